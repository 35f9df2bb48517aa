// What is known of the beginnings of texts: their ids up to places where they may be cut, so that a text whose
// beginning has been seen is encoded from the last such place on. The theorem is in docs/explanation/algorithm.md.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "encode/utf8_reader.hpp"
#include "support/fork_safe_mutex.hpp"

namespace hf_bpe {

using Byte = std::uint8_t;

// A place at which a text may be cut, like all texts that have its first `known` bytes.
struct TextCut {
  std::size_t text = 0;  // the bytes before it
  std::size_t ids = 0;   // the ids before it
  std::size_t known = 0;
};

// Texts are stored in blocks of kBlock bytes, each with its ids, that know the block before them. So texts share what
// they have in common. Blocks are found by a hash of the text up to their end, or to the end of one of their cells; the
// text itself is compared, so no result depends on hashes. They are keyed, so that nobody can write texts of the same
// hash, which would make look-ups slow. What was not used for the longest time is dropped first.
//
// Thread-safe. No lock is held while text is hashed, compared or copied.
class PrefixCache {
 public:
  static constexpr std::size_t kCell = 512, kCells = 16, kBlock = kCells * kCell;
  static constexpr std::size_t kMinBytes = 2 * kCell;  // shorter texts are encoded in the time of a look-up

  // `max_bytes` of memory, with all that is needed besides the texts and their ids.
  explicit PrefixCache(std::size_t max_bytes);
  ~PrefixCache();

  // A number below kNoSpace for each encoder that uses the cache, or kNoSpace when there are no more.
  static constexpr std::uint32_t kNoSpace = std::uint32_t{1} << 26;
  std::uint32_t new_space();

  // What decides ids besides the text: an encoder and its options.
  struct Context {
    std::uint32_t space;
    std::uint32_t flags;       // below 2**6
    std::uint32_t unknown_id;  // below 2**31
  };

  struct Block;
  struct Found {
    std::shared_ptr<const Block> block;
    std::uint32_t node;
  };

  // What is known of the beginning of a text.
  struct Prefix {
    std::vector<Found> blocks;  // that the text has as a whole
    Found last{};               // the next one, if the text has some of it
    std::size_t common = 0;     // the bytes that the text has in common with these
    TextCut end;                // where the text may be cut, and encoding begins
    Context context{};

    void copy_ids(std::uint32_t* out) const;  // `end.ids` of them
  };
  // Reads the text up to the block that it has not, or has in part.
  Prefix find(Utf8Reader& text, Context context);

  // Adds a text that has been found before, with its ids and the places after `prefix.end` at which it may be cut. Its
  // tail begins in `tail_begin(prefix)` or before.
  void add(const Prefix& prefix, const Utf8Tail& text, const std::uint32_t* ids, const std::vector<TextCut>& cuts);
  static std::size_t tail_begin(const Prefix& prefix) { return prefix.blocks.size() * kBlock; }

  struct Statistics {
    std::size_t texts = 0, hits = 0;               // looked up, and known in part
    std::size_t text_bytes = 0, reused_bytes = 0;  // of all texts, and of what was not encoded again
    std::size_t size_bytes = 0, blocks = 0;        // what is held now
    std::size_t evicted_blocks = 0;
  };
  Statistics statistics() const;
  std::size_t max_bytes() const { return max_bytes_; }
  void clear();

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  struct Node {
    std::shared_ptr<const Block> block;  // null if the node is free
    std::uint64_t parent = 0;            // of the block, here so that it need not be read
    std::uint32_t newer = kNone, older = kNone;
    std::uint32_t slots = 0;  // that lead to it
  };
  struct Slot {
    std::uint64_t key;
    std::uint32_t node = kNone;
  };

  using Key = std::uint64_t;
  Key mixed(Key key, Key value) const;
  Key key_after(Key key, const Byte* cell) const;
  Key key_of_latest(Key key) const;
  std::vector<std::shared_ptr<const Block>> make_blocks(const Prefix& prefix, const Utf8Tail& text,
                                                        const std::uint32_t* ids, const std::vector<TextCut>& cuts);
  Found find_node(std::uint64_t key, std::uint64_t parent) const;
  std::size_t slot_of(std::uint64_t key) const;
  void grow_slots();
  void insert(std::shared_ptr<const Block> block, std::vector<std::shared_ptr<const Block>>& dropped);
  void set_slot(std::uint64_t key, std::uint32_t node, std::vector<std::shared_ptr<const Block>>& dropped);
  void erase_slot(std::size_t place);
  void touch(const Found& found);
  void link_as_newest(std::uint32_t node);
  void unlink(std::uint32_t node);
  std::shared_ptr<const Block> free_node(std::uint32_t node);
  std::shared_ptr<const Block> evict_oldest();

  const std::size_t max_bytes_;
  const std::array<std::uint64_t, 4> seeds_;  // random
  std::atomic<std::uint32_t> spaces_ = 0;
  std::atomic<std::uint64_t> serials_ = 1;  // below 2**63; the parent of a first block is a context, from there on
  mutable ForkSafeMutex mutex_;             // of all that follows
  std::vector<Slot> slots_;                 // a power of two, of which most are free
  std::size_t used_slots_ = 0;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> free_nodes_;
  std::uint32_t newest_ = kNone, oldest_ = kNone;
  Statistics statistics_;
};

}  // namespace hf_bpe
