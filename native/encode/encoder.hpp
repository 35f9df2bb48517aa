// Encodes texts to ids: added tokens, pre-tokens, merges, in threads. The result does not depend on their number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <vector>

#include "added_tokens/added_tokens.hpp"
#include "added_tokens/cuts.hpp"
#include "encode/prefix_cache.hpp"
#include "encode/token_offsets.hpp"
#include "merge/dropout.hpp"
#include "merge/vocabulary.hpp"
#include "scan/scanner.hpp"
#include "support/id_buffer.hpp"
#include "support/poll.hpp"
#include "text/chunks.hpp"

namespace hf_bpe {

struct EncodingOptions : SegmentOptions {
  std::optional<std::uint32_t> unknown_id;  // the id of bytes without a token
  std::optional<Dropout> dropout;           // BPE-dropout, with as many texts as are encoded
  bool continued = false;                   // nothing is put before the first segment, for models of characters
  unsigned threads = 1;

  // The fields of hf_bpe.encoding._encoder.Options, in their order.
  template <class Options>
  static auto fields(Options& all) {
    return std::tie(all.split_special_tokens, all.add_prefix_space, all.unknown_id, all.dropout, all.continued);
  }
};

// Thrown for a byte without a token if there is no unknown_id.
struct MissingByte : std::runtime_error {
  explicit MissingByte(Byte byte) : std::runtime_error("the model has no token for a byte"), byte(byte) {}
  Byte byte;
};

// Thrown by an encoder that refuses changes.
struct MayNotBeNfc : std::runtime_error {
  MayNotBeNfc() : std::runtime_error("normalization to NFC may change the text") {}
};

// Thread-safe.
class Encoder {
 public:
  static constexpr std::size_t kChunkBytes = std::size_t{1} << 18;

  // A thread takes `chunk_bytes` at a time.
  Encoder(Vocabulary vocabulary, Pattern pattern, Simd simd = widest_simd(), std::size_t chunk_bytes = kChunkBytes);
  ~Encoder();

  // An encoder with other added tokens, which shares the cache of pre-tokens.
  Encoder with_added_tokens(const std::vector<AddedToken>& tokens) const;

  // An encoder of text that holds what a model of characters puts before segments. It uses no prefix cache.
  Encoder without_prefix() const;

  // An encoder that keeps and looks up the beginnings of texts in a cache, which may serve others, too.
  Encoder with_prefix_cache(std::shared_ptr<PrefixCache> cache) const;

  // An encoder that shares the cache and what it holds, all of it in NFC, and throws MayNotBeNfc for text that may not
  // be in NFC. Of texts that are looked up only what is not known is examined.
  Encoder refusing_changes() const;
  // Throws MayNotBeNfc if this encoder refuses changes; `encode_short` does not.
  void check_nfc(const Text& text) const;

  bool has_prefix_cache() const { return prefix_cache_ != nullptr; }
  // Whether `encode` looks up texts of `bytes` in the cache.
  bool uses_prefix_cache(const EncodingOptions& options, std::size_t bytes = PrefixCache::kMinBytes) const;

  // How many characters of a text are known to be the beginning of one that was encoded with these options.
  std::size_t known_characters(const Text& text, const EncodingOptions& options) const;

  struct Encoded {
    IdBuffer ids;
    std::vector<std::int64_t> offsets;  // where the ids of each text begin, and the end of the last
  };

  bool lacks_bytes() const;

  // Texts up to this many bytes may have wider units than UTF-8.
  std::size_t max_wide_bytes() const;

  // The ids of texts; throws MissingByte. `poll` is called from time to time in the calling thread with the number of
  // bytes done; its exceptions propagate.
  Encoded encode(const std::vector<Text>& texts, const EncodingOptions& options,
                 const std::function<void(std::size_t)>& poll) const;

  // The ids with their offsets, on the calling thread. `decoder` knows the tokens.
  struct EncodedWithOffsets : Encoded {
    std::vector<TokenOffsets> token_offsets;
  };
  EncodedWithOffsets encode_with_offsets(const std::vector<Text>& texts, const EncodingOptions& options,
                                         const Decoder& decoder, const std::function<void(std::size_t)>& poll) const;

  // The number of ids of each text.
  std::vector<std::int64_t> count(const std::vector<Text>& texts, const EncodingOptions& options,
                                  const std::function<void(std::size_t)>& poll) const;

  // The ids that the merges make of each word, as if it were a pre-token: no word is looked up as a whole, and a byte
  // without a token is `unknown_id`.
  Encoded merge_words(const std::vector<std::string_view>& words, std::uint32_t unknown_id,
                      const PollFunction& poll) const;

  // For each word that the merges make one token, the rank of the last of them; -1 for other words.
  std::vector<std::int64_t> last_merges(const std::vector<std::string_view>& words, const PollFunction& poll) const;

  // Calls `use` with the ids of a short text, on the calling thread and without allocation; throws MissingByte.
  void encode_short(const Text& text, const EncodingOptions& options, const std::function<void(const IdBuffer&)>& use,
                    const PollFunction& poll) const;

  // The last position at which a text may be cut so that the parts give the ids of the whole, whatever follows its end;
  // 0 if there is none.
  std::size_t find_last_cut(const Text& text, const EncodingOptions& options, const PollFunction& poll) const;

 private:
  class Worker;
  struct Core;
  class Lease;
  struct Results;
  struct CutPlaces;

  Encoder(std::shared_ptr<Core> core, const std::vector<AddedToken>& tokens, bool puts_prefix = true);
  CutRules cut_rules(const EncodingOptions& options, const PollFunction& poll) const;
  // Appends the ids of a part of the text with the number `index` in a call, whose UTF-8 begins at `text`. With `waits`
  // words are encoded later, as in TextGroup.
  void encode(Worker& worker, std::size_t index, const Byte* text, Part part, const Byte* readable,
              const EncodingOptions& options, IdBuffer& ids, const PollFunction& poll,
              OffsetCollector* collector = nullptr, bool waits = false, CutPlaces* places = nullptr) const;

  static void write_unknown(std::size_t before, IdBuffer& ids, const CharacterRules& rules, OffsetCollector* collector);

  // With `are_rests`, which texts are the rest of one that begins before them, places are kept, too.
  Results run(const std::vector<Text>& texts, const EncodingOptions& options, bool keeps_ids,
              const std::function<void(std::size_t)>& poll, const std::vector<bool>* are_rests = nullptr) const;
  Encoded encode_with_prefix_cache(const std::vector<Text>& texts, const EncodingOptions& options,
                                   const std::function<void(std::size_t)>& poll) const;
  PrefixCache::Context prefix_context(const EncodingOptions& options) const;

  std::shared_ptr<Core> core_;
  std::shared_ptr<const AddedTokens> added_tokens_;
  std::shared_ptr<PrefixCache> prefix_cache_;    // null for none
  std::uint32_t space_ = PrefixCache::kNoSpace;  // of this encoder in the cache
  bool prefixes_, refuses_changes_ = false;      // puts something before segments; see refusing_changes
};

}  // namespace hf_bpe
