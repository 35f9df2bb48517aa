// The encoder as Python holds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/decoding.hpp"
#include "bindings/encoder_arguments.hpp"
#include "bindings/int_lists.hpp"
#include "bindings/row_results.hpp"
#include "bindings/vocabularies.hpp"
#include "encode/encoder.hpp"
#include "encode/prefix_cache.hpp"

namespace hf_bpe {

using AnyText = Typed<nb::object, "AnyText">;
using Texts = Typed<nb::list, "list[AnyText]">;
using IdList = Typed<nb::list, "list[int]">;
using IdLists = Typed<nb::list, "list[list[int]]">;
using Encoded = Typed<nb::tuple, "tuple[Ids, Numbers]">;
using Rebuild = Typed<nb::object, "Callable[..., object]">;
using GivenModel = Typed<nb::object, "BPEModel">;
using GivenOptions = Typed<nb::tuple, "Options">;
using GivenPadding = Typed<nb::object, "Padding">;
using GivenLimit = Typed<nb::object, "tuple[int, bool] | None">;

// In bytes. Two threads that hand over the GIL for each of many shorter texts take longer than one: waking the other
// costs more than encoding.
constexpr std::ptrdiff_t kShort = 1 << 12;

// Releases the GIL while texts are encoded, unless they are short.
inline std::optional<NoGil> no_gil_for(const std::vector<Text>& texts) {
  std::ptrdiff_t size = 0;
  for (const Text& text : texts) {
    if ((size += text.end - text.begin) > kShort) return std::optional<NoGil>(std::in_place);
  }
  return std::nullopt;
}

class PyEncoder : public PyDecoder {
 public:
  PyEncoder(const GivenModel& model, const Rebuild& rebuild, const TokenArrays& vocab, const nb::bytes& merge_ids,
            const GivenPattern& pattern, const std::optional<ByteStrings>& excluded_tokens, bool drop_missing_bytes,
            const std::optional<std::string>& simd, std::size_t chunk_bytes)
      : PyEncoder(model, rebuild, GivenTokens(vocab), [&](const GivenTokens& tokens) {
          return Encoder(Vocabulary(tokens.items, merges_by_id(tokens, merge_ids),
                                    whole_words_of(tokens, excluded_tokens), drop_missing_bytes),
                         pattern_of(pattern.value), simd_of(simd), chunk_bytes);
        }) {}

  static PyEncoder of_characters(const GivenModel& model, const Rebuild& rebuild, const TokenArrays& vocab,
                                 const nb::bytes& merge_ids, const nb::bytes& byte_ids, const std::string& space,
                                 unsigned prefix, bool splits, std::optional<std::uint32_t> unknown_id,
                                 bool fuses_unknown, bool keeps_spaces, const std::optional<std::string>& simd,
                                 std::size_t chunk_bytes) {
    const CharacterRules rules{prefix_space_of(prefix), splits, unknown_id, fuses_unknown, keeps_spaces};
    GivenTokens given(vocab);
    const std::vector<std::uint32_t> bytes = numbers_of(byte_ids), of_no_text = given.read_as_text(space, bytes);
    return PyEncoder(model, rebuild, given, [&](const GivenTokens& tokens) {
      const CharacterVocabulary made(tokens.items, merges_by_id(tokens, merge_ids), bytes, of_no_text);
      return Encoder(made.vocabulary(),
                     Pattern(std::make_shared<const CharacterCuts>(made.made(), made.characters(), rules)),
                     simd_of(simd), chunk_bytes);
    });
  }

  PyEncoder with_added_tokens(const Typed<nb::tuple, "tuple[AddedTokenTuple, ...]">& tokens) const {
    PyEncoder other(*this);
    const std::vector<AddedToken> added = added_tokens(tokens);
    Decoder::Tokens decoded;
    for (const AddedToken& token : added) decoded.emplace_back(token.id, token.content);
    other.decoder_.add(decoded);
    other.encoder_ = encoder_.with_added_tokens(added);
    other.added_ = tokens;
    return other;
  }

  PyEncoder with_prefix_cache(std::shared_ptr<PrefixCache> cache) const {
    return with(encoder_.with_prefix_cache(std::move(cache)));
  }
  PyEncoder refusing_changes() const { return with(encoder_.refusing_changes()); }
  PyEncoder without_prefix() const { return with(encoder_.without_prefix()); }

  // For a model with the same ids for every text.
  PyEncoder with_model(const GivenModel& model) const {
    PyEncoder other(*this);
    other.model_ = model;
    return other;
  }

  Typed<nb::tuple, "tuple[object, ...]"> reduce() const {
    return nb::make_tuple(rebuild_, nb::make_tuple(model_, added_));
  }
  GivenModel model() const { return model_; }
  bool lacks_bytes() const { return encoder_.lacks_bytes(); }

  IdList encode(const AnyText& text, const GivenOptions& given) const {
    static const Around kNothing;
    const HeldTexts held(text.value, how(given));
    return list_of(held, options_of(given, 1), kNothing).first;
  }

  // The special tokens of a template.
  struct Around {
    Ids before, after;  // the ids of a text
  };

  // The ids of the only text, and whether they begin with the token that the template puts first.
  std::pair<nb::list, bool> list_of(const HeldTexts& held, const EncodingOptions& options, const Around& around) const {
    const auto& [before, after] = around;
    bool is_double = false;
    const auto write = [&](const nb::list& list, const IdBuffer& ids) {
      is_double = !before.empty() && ids.size() != 0 && *ids.begin() == before[0];
      ListWriter writer(list, before.size() + ids.size() + after.size());
      writer.add(before.data(), before.size());
      writer.add(ids.begin(), ids.size());
      writer.add(after.data(), after.size());
    };
    const Text& only = held.texts[0];
    const std::ptrdiff_t size = only.end - only.begin;
    if (size > kShort || encoder_.uses_prefix_cache(options, static_cast<std::size_t>(size))) {
      const Encoder::Encoded encoded = run(held.texts, options);
      nb::list list;
      write(list, encoded.ids);
      return {std::move(list), is_double};
    }
    encoder_.check_nfc(only);
    nb::list list;
    encoder_.encode_short(only, options, [&](const IdBuffer& ids) { write(list, ids); }, kCheckSignals);
    return {std::move(list), is_double};
  }

  // Texts that are looked up, or get offsets, are converted to UTF-8 by the core, however long they are.
  HeldTexts::Options how(const nb::tuple& options) const {
    return reading(encoder_.has_prefix_cache() && encoder_.uses_prefix_cache(options_of(options, std::nullopt)));
  }
  HeldTexts::Options reading(bool takes_wide) const {
    return {.repairs_surrogates = true, .max_wide_bytes = takes_wide ? ~std::size_t{0} : encoder_.max_wide_bytes()};
  }

  IdLists encode_batch(const Texts& texts, const GivenOptions& options, unsigned threads) const {
    const HeldTexts held(texts, how(options));
    const Encoder::Encoded encoded = run(held.texts, options_of(options, held.texts.size(), threads));
    const nb::list lists = make_lists(held.texts.size());
    PollInLoop polls(kCheckSignals);
    for (std::size_t i = 0; i < held.texts.size(); ++i) {
      const auto size = static_cast<std::size_t>(encoded.offsets[i + 1] - encoded.offsets[i]);
      polls(size);
      ListWriter(lists[i], size).add(encoded.ids.begin() + encoded.offsets[i], size);
    }
    return lists;
  }

  Encoded encode_to_numpy(const Texts& texts, const GivenOptions& options, unsigned threads) const {
    const HeldTexts held(texts, how(options));
    return arrays_of_ids(run(held.texts, options_of(options, held.texts.size(), threads)));
  }

  // Whoever has the buffer may change it meanwhile, so what is read of it is copied; that takes a hundredth of the
  // time.
  Encoded encode_utf8(const nb::object& data, const GivenNumbers& begins, const GivenNumbers& ends,
                      const GivenOptions& given, unsigned threads) const {
    const std::vector<std::int64_t> starts = numbers_in(begins, "begins"), stops = numbers_in(ends, "ends");
    const EncodingOptions options = options_of(given, starts.size(), threads);
    const CopiedSpan copied(data, starts, stops);
    return arrays_of_ids(run(copied.texts, options));
  }

  Typed<nb::tuple, "tuple[Ids, Numbers, Numbers]"> encode_with_offsets(const Texts& texts,
                                                                       const GivenOptions& given) const {
    const HeldTexts held(texts, reading(true));
    const EncodingOptions options = options_of(given, held.texts.size());
    Encoder::EncodedWithOffsets encoded;
    {
      Poll poll{nb::none()};
      const std::optional<NoGil> no_gil = no_gil_for(held.texts);
      encoded = encoder_.encode_with_offsets(held.texts, options, decoder_, std::ref(poll));
    }
    const std::size_t size = encoded.token_offsets.size();
    auto offsets = make_array<std::int64_t>(3 * size);
    static_assert(sizeof(TokenOffsets) == 3 * sizeof(std::int64_t));
    if (size != 0) std::memcpy(offsets.get(), encoded.token_offsets.data(), size * sizeof(TokenOffsets));
    return nb::make_tuple(to_array(encoded.ids.release(), {size}), to_array(encoded.offsets),
                          to_array(offsets.release(), {size, 3}));
  }

  RowLists encode_to_rows(const Texts& texts, const GivenOptions& options, unsigned threads,
                          const GivenTemplate& template_ids, const GivenLimit& limit,
                          const GivenPadding& padding) const {
    const auto [wanted, pad_id, is_left] = padding_of(padding.value).value_or(Padding(0, 0, false));
    const auto [encoded, rows] = encoded_rows(texts, options, threads, template_ids, limit);
    return lists_of(rows, wanted.value_or(rows.longest()), pad_id, is_left);
  }

  Typed<nb::object, "tuple[Numbers, Numbers] | None"> encode_to_row_arrays(
      const Texts& texts, const GivenOptions& options, unsigned threads, const GivenTemplate& template_ids,
      const GivenLimit& limit, const GivenPadding& padding) const {
    const std::optional<Padding> padded = padding_of(padding.value);
    const auto [wanted, pad_id, is_left] = padded.value_or(Padding({}, 0, false));
    const auto [encoded, rows] = encoded_rows(texts, options, threads, template_ids, limit);
    const std::size_t longest = rows.longest(), length = wanted.value_or(longest);
    if (longest > length || !(padded || rows.are_all_of(length))) return nb::none();
    return nb::object(arrays_of(rows, length, pad_id, is_left));
  }

  std::vector<std::int64_t> count_tokens(const Texts& texts, const GivenOptions& given, unsigned threads) const {
    const HeldTexts held(texts, reading(false));
    const EncodingOptions options = options_of(given, held.texts.size(), threads);
    Poll poll{nb::none()};
    const std::optional<NoGil> no_gil = no_gil_for(held.texts);
    return encoder_.count(held.texts, options, std::ref(poll));
  }

  Encoded merge_words(const ByteStrings& words, std::uint32_t unknown_id) const {
    const Held held = items_of(words.value, "words");
    const std::vector<std::string_view> views = views_of(held);
    return arrays_of_ids(  // bytes cannot change
        without_gil([&](const auto& poll) { return encoder_.merge_words(views, unknown_id, poll); }));
  }

  Typed<nb::object, "Numbers"> last_merges(const ByteStrings& words) const {
    const Held held = items_of(words.value, "words");
    const std::vector<std::string_view> views = views_of(held);
    return to_array(without_gil([&](const auto& poll) { return encoder_.last_merges(views, poll); }));
  }

  std::size_t find_last_cut(const nb::bytes& data, const GivenOptions& options) const {
    return encoder_.find_last_cut({bytes_of(data), bytes_of(data) + data.size()}, options_of(options, 1),
                                  kCheckSignals);
  }

  std::size_t known_characters(const AnyText& text, const GivenOptions& given) const {
    const EncodingOptions options = options_of(given, 1);
    const HeldTexts held(text.value, how(given));
    const NoGil no_gil;
    return encoder_.known_characters(held.texts[0], options);
  }

 private:
  template <class Make>
  PyEncoder(nb::object model, nb::object rebuild, const GivenTokens& tokens, const Make& make_encoder)
      : model_(std::move(model)), rebuild_(std::move(rebuild)), encoder_(make_encoder(tokens)) {
    decoder_.add(tokens.items);  // once the vocabulary has refused ids that would take too much memory
    all_ints.make_room(decoder_.ids());
  }

  PyEncoder with(Encoder encoder) const {
    PyEncoder other(*this);
    other.encoder_ = std::move(encoder);
    return other;
  }

  static Encoded arrays_of_ids(Encoder::Encoded encoded) {
    const std::size_t size = encoded.ids.size();
    return nb::make_tuple(to_array(encoded.ids.release(), {size}), to_array(encoded.offsets));
  }

  static std::vector<std::string_view> views_of(const Held& words) {
    std::vector<std::string_view> views;
    for (nb::handle word : words) views.push_back(view_of(word, "words"));
    return views;
  }

  // Rows of one text each. The ids stay where they are when this is moved.
  struct TextRows {
    Encoder::Encoded encoded;
    Rows rows;
  };

  TextRows encoded_rows(const Texts& texts, const GivenOptions& options, unsigned threads,
                        const GivenTemplate& template_ids, const GivenLimit& limit) const {
    std::vector<Ids> special = special_ids_of(template_ids.value);
    const Limit cut = limit_of(limit.value, special);
    const HeldTexts held(texts, how(options));
    Encoder::Encoded encoded = run(held.texts, options_of(options, held.texts.size(), threads));
    Rows rows(encoded.ids.begin(), encoded.ids.size(), cut.spans(encoded.offsets), std::move(special));
    return {std::move(encoded), std::move(rows)};
  }

  Encoder::Encoded run(const std::vector<Text>& texts, const EncodingOptions& options) const {
    Poll poll{nb::none()};
    const std::optional<NoGil> no_gil = no_gil_for(texts);
    return encoder_.encode(texts, options, std::ref(poll));
  }

  nb::object model_, rebuild_;
  nb::tuple added_;
  Encoder encoder_;
};

}  // namespace hf_bpe
