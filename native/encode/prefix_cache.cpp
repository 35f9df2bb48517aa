#include "encode/prefix_cache.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <random>
#include <utility>

#include "support/hashing.hpp"

namespace hf_bpe {
namespace {

std::array<std::uint64_t, 4> random_seeds() {
  std::random_device device;  // of the system
  std::array<std::uint64_t, 4> seeds;
  for (std::uint64_t& seed : seeds) seed = std::uint64_t{device()} << 32 | device();
  return seeds;
}

// Different for different contexts, and from all serial numbers.
std::uint64_t parent_of_first(const PrefixCache::Context& context) {
  return std::uint64_t{1} << 63 | std::uint64_t{context.space} << 37 | std::uint64_t{context.flags} << 31 |
         context.unknown_id;
}

constexpr std::size_t kFirstSlots = 1 << 10;

std::size_t common_bytes(const Byte* a, const Byte* b, std::size_t size) {
  constexpr std::size_t kStep = 256;
  std::size_t at = 0;
  while (size - at >= kStep && std::memcmp(a + at, b + at, kStep) == 0) at += kStep;
  return static_cast<std::size_t>(std::mismatch(a + at, a + size, b + at).first - a);
}

}  // namespace

struct PrefixCache::Block {
  std::uint64_t serial, parent;  // parent: the serial number of the block before, see parent_of_first
  std::uint64_t key_before;      // of the text before it
  std::size_t number;            // of blocks before it
  TextCut begin, end;            // its ids lie between; `begin` is the `end` of the block before
  std::vector<TextCut> cuts;     // after `begin`, decided by its text; both its places and `known` ascend
  std::vector<std::uint32_t> ids;
  std::vector<Byte> text;                // kBlock bytes, or fewer if the text ends here
  std::vector<std::uint64_t> cell_keys;  // of the text up to the end of each whole cell

  std::uint64_t key() const { return cell_keys.back(); }  // if it is whole
  std::size_t bytes() const {
    constexpr std::size_t kOfAllocations = 5 * 16;
    return sizeof(Block) + sizeof(Node) + kOfAllocations + cuts.size() * sizeof(TextCut) +
           ids.size() * sizeof(std::uint32_t) + text.size() + cell_keys.size() * sizeof(std::uint64_t);
  }
};

void PrefixCache::Prefix::copy_ids(std::uint32_t* out) const {
  for (const Found& each : blocks) out = std::copy(each.block->ids.begin(), each.block->ids.end(), out);
  if (!last.block) return;
  const auto size = static_cast<std::ptrdiff_t>(end.ids - last.block->begin.ids);
  std::copy(last.block->ids.begin(), last.block->ids.begin() + size, out);
}

PrefixCache::PrefixCache(std::size_t max_bytes) : max_bytes_(max_bytes), seeds_(random_seeds()), slots_(kFirstSlots) {
  statistics_.size_bytes = slots_.size() * sizeof(Slot);
}
PrefixCache::~PrefixCache() = default;

PrefixCache::Key PrefixCache::mixed(Key key, Key value) const { return fold(key ^ seeds_[0], value ^ seeds_[1]); }

// The key of a text that has a cell more.
PrefixCache::Key PrefixCache::key_after(Key key, const Byte* cell) const {
  std::array<Key, 4> lanes = seeds_;  // independent, so that they overlap
  for (const Byte* at = cell; at != cell + kCell; at += 64) {
    for (std::size_t lane = 0; lane < 4; ++lane) {
      lanes[lane] = fold(load(at + 16 * lane) ^ lanes[lane], load(at + 16 * lane + 8) ^ seeds_[lane]);
    }
  }
  return mixed(key, mixed(lanes[0] ^ lanes[1], lanes[2] + lanes[3]));
}

// Leads to the block that was added last after the text with a key.
PrefixCache::Key PrefixCache::key_of_latest(Key key) const { return mixed(key, seeds_[2]); }

std::uint32_t PrefixCache::new_space() {
  std::uint32_t space = spaces_;
  while (space < kNoSpace && !spaces_.compare_exchange_weak(space, space + 1)) {
  }
  return space;
}

PrefixCache::Prefix PrefixCache::find(Utf8Reader& text, Context context) {
  constexpr std::size_t kMaxAtOnce = 16;
  Prefix prefix;
  prefix.context = context;
  std::uint64_t parent = parent_of_first(context);
  Key key = mixed(parent, 0);
  const auto is_next = [&](const Found& found) {
    const std::span<const Byte> next = text.next(kBlock);
    return found.block && found.block->text.size() == kBlock && next.size() == kBlock &&
           std::memcmp(found.block->text.data(), next.data(), kBlock) == 0;
  };
  const auto take = [&](const Block& block) {
    parent = block.serial;
    key = block.key();
    text.skip(kBlock);
  };
  Key keys[kCells];
  std::size_t cells = 0;
  for (std::size_t most = 1;; most = std::min(2 * most, kMaxAtOnce)) {
    // The next blocks are probably those that were added last, so the text is not hashed.
    const std::size_t before = prefix.blocks.size(), left = text.max_left() / kBlock;
    {
      const std::lock_guard lock(mutex_);
      std::uint64_t next_parent = parent;
      Key next_key = key;
      for (std::size_t count = std::min(most, left); count > 0; --count) {
        Found next = find_node(key_of_latest(next_key), next_parent);
        if (!next.block || next.block->text.size() != kBlock) break;
        next_parent = next.block->serial;
        next_key = next.block->key();
        prefix.blocks.push_back(std::move(next));
      }
    }
    std::size_t known = before;
    for (; known < prefix.blocks.size() && is_next(prefix.blocks[known]); ++known) take(*prefix.blocks[known].block);
    prefix.blocks.resize(known);
    if (known > before) continue;
    const std::span<const Byte> next_bytes = text.next(kBlock);
    cells = next_bytes.size() / kCell;
    for (std::size_t i = 0; i < cells; ++i) {
      keys[i] = key_after(i == 0 ? key : keys[i - 1], next_bytes.data() + i * kCell);
    }
    if (cells < kCells) break;
    Found next;
    {
      const std::lock_guard lock(mutex_);
      next = find_node(keys[kCells - 1], parent);
    }
    if (!is_next(next)) break;
    take(*next.block);
    prefix.blocks.push_back(std::move(next));
  }
  prefix.common = tail_begin(prefix);
  if (!prefix.blocks.empty()) prefix.end = prefix.blocks.back().block->end;
  // The text has some of the next block, if there is one.
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = cells; i-- > 0 && !prefix.last.block;) prefix.last = find_node(keys[i], parent);
    if (!prefix.last.block) prefix.last = find_node(key_of_latest(key), parent);
  }
  if (!prefix.last.block) return prefix;
  const Block& block = *prefix.last.block;
  const std::span<const Byte> next_bytes = text.next(kBlock);
  prefix.common += common_bytes(block.text.data(), next_bytes.data(), std::min(block.text.size(), next_bytes.size()));
  const auto is_decided = [&](const TextCut& cut) { return cut.known <= prefix.common; };
  const auto after = std::partition_point(block.cuts.begin(), block.cuts.end(), is_decided);
  if (after == block.cuts.begin()) {
    prefix.last = {};
  } else {
    prefix.end = *(after - 1);
  }
  return prefix;
}

std::vector<std::shared_ptr<const PrefixCache::Block>> PrefixCache::make_blocks(const Prefix& prefix,
                                                                                const Utf8Tail& text,
                                                                                const std::uint32_t* ids,
                                                                                const std::vector<TextCut>& cuts) {
  std::vector<TextCut> all;  // after the whole blocks
  const auto append = [&](const TextCut& cut) {
    while (!all.empty() && all.back().known >= cut.known) all.pop_back();  // never better than this one
    all.push_back(cut);
  };
  if (prefix.last.block) {
    for (const TextCut& cut : prefix.last.block->cuts) {
      if (cut.text <= prefix.end.text) append(cut);
    }
  }
  std::for_each(cuts.begin(), cuts.end(), append);
  std::vector<std::shared_ptr<const Block>> blocks;
  if (all.empty()) return blocks;  // and further ones would not be found without it
  const Block* before = prefix.blocks.empty() ? nullptr : prefix.blocks.back().block.get();
  std::uint64_t parent = before == nullptr ? parent_of_first(prefix.context) : before->serial;
  std::uint64_t key = before == nullptr ? mixed(parent, 0) : before->key();
  TextCut last = before == nullptr ? TextCut() : before->end;
  std::size_t number = prefix.blocks.size(), bytes = 0;
  auto next = all.begin();
  const Byte* const end = text.text.end;
  for (const Byte* at = text.text.begin + (number * kBlock - text.skipped);
       at < end && next != all.end() && bytes < max_bytes_; ++number) {
    const std::size_t size = std::min(kBlock, static_cast<std::size_t>(end - at));
    const std::size_t decided = number * kBlock + size;
    auto block = std::make_shared<Block>();
    block->serial = serials_.fetch_add(1, std::memory_order_relaxed);
    block->parent = parent;
    block->key_before = key;
    block->number = number;
    block->begin = last;
    const auto first = next;
    while (next != all.end() && next->known <= decided) last = *next++;
    block->cuts.assign(first, next);
    block->end = last;
    block->ids.assign(ids + block->begin.ids, ids + block->end.ids);
    block->text.assign(at, at + size);
    block->cell_keys.reserve(size / kCell);
    for (std::size_t cell = 0; cell < size / kCell; ++cell) {
      block->cell_keys.push_back(key = key_after(key, at + cell * kCell));
    }
    parent = block->serial;
    bytes += block->bytes();
    blocks.push_back(std::move(block));
    at += size;
  }
  // The last block may be what is there already.
  if (blocks.size() == 1 && prefix.last.block && prefix.common == text.size() &&
      prefix.last.block->end.text >= blocks[0]->end.text) {
    blocks.clear();
  }
  return blocks;
}

void PrefixCache::add(const Prefix& prefix, const Utf8Tail& text, const std::uint32_t* ids,
                      const std::vector<TextCut>& cuts) {
  auto blocks = make_blocks(prefix, text, ids, cuts);
  std::vector<std::shared_ptr<const Block>> dropped;  // and destroyed without the lock
  const std::lock_guard lock(mutex_);
  ++statistics_.texts;
  statistics_.hits += prefix.end.text > 0 ? 1 : 0;
  statistics_.text_bytes += text.size();
  statistics_.reused_bytes += prefix.end.text;
  // A block is of no use without those before it, so these count as used later.
  if (prefix.last.block) touch(prefix.last);
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) insert(std::move(*block), dropped);
  for (auto each = prefix.blocks.rbegin(); each != prefix.blocks.rend(); ++each) touch(*each);
  while (oldest_ != kNone && statistics_.size_bytes > max_bytes_) {
    dropped.push_back(evict_oldest());
    ++statistics_.evicted_blocks;
  }
}

PrefixCache::Statistics PrefixCache::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

void PrefixCache::clear() {
  std::vector<Node> nodes;
  const std::lock_guard lock(mutex_);
  nodes.swap(nodes_);
  free_nodes_.clear();
  slots_.assign(kFirstSlots, Slot());
  used_slots_ = 0;
  newest_ = oldest_ = kNone;
  statistics_ = {};
  statistics_.size_bytes = slots_.size() * sizeof(Slot);
}

// With linear probing.
std::size_t PrefixCache::slot_of(std::uint64_t key) const {
  std::size_t place = key & (slots_.size() - 1);
  while (slots_[place].node != kNone && slots_[place].key != key) place = (place + 1) & (slots_.size() - 1);
  return place;
}

void PrefixCache::grow_slots() {
  std::vector<Slot> before(2 * slots_.size());
  before.swap(slots_);
  for (const Slot& slot : before) {
    if (slot.node != kNone) slots_[slot_of(slot.key)] = slot;
  }
  statistics_.size_bytes += before.size() * sizeof(Slot);
}

PrefixCache::Found PrefixCache::find_node(std::uint64_t key, std::uint64_t parent) const {
  const std::uint32_t node = slots_[slot_of(key)].node;
  if (node == kNone || nodes_[node].parent != parent) return {};
  return {nodes_[node].block, node};
}

void PrefixCache::insert(std::shared_ptr<const Block> block, std::vector<std::shared_ptr<const Block>>& dropped) {
  if (used_slots_ + kCells + 1 > slots_.size() / 2) grow_slots();
  std::uint32_t node = static_cast<std::uint32_t>(nodes_.size());
  if (free_nodes_.empty()) {
    nodes_.emplace_back();
    free_nodes_.reserve(nodes_.capacity());
  } else {
    node = free_nodes_.back();
    free_nodes_.pop_back();
  }
  const Block& of = *block;
  statistics_.size_bytes += of.bytes();
  ++statistics_.blocks;
  nodes_[node] = {std::move(block), of.parent};
  link_as_newest(node);
  ++nodes_[node].slots;  // so that it stays until all are set
  set_slot(key_of_latest(of.key_before), node, dropped);
  for (const std::uint64_t key : of.cell_keys) set_slot(key, node, dropped);
  --nodes_[node].slots;
}

void PrefixCache::set_slot(std::uint64_t key, std::uint32_t node, std::vector<std::shared_ptr<const Block>>& dropped) {
  Slot& slot = slots_[slot_of(key)];
  ++nodes_[node].slots;
  const std::uint32_t before = std::exchange(slot.node, node);
  if (before == kNone) {
    slot.key = key;
    ++used_slots_;
  } else if (--nodes_[before].slots == 0) {
    unlink(before);
    dropped.push_back(free_node(before));
  }
}

// Those after it that could not be where they belong move up.
void PrefixCache::erase_slot(std::size_t place) {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t next = (place + 1) & mask; slots_[next].node != kNone; next = (next + 1) & mask) {
    const std::size_t home = slots_[next].key & mask;
    if (((next - home) & mask) < ((next - place) & mask)) continue;
    slots_[place] = slots_[next];
    place = next;
  }
  slots_[place].node = kNone;
  --used_slots_;
}

void PrefixCache::touch(const Found& found) {
  if (found.node >= nodes_.size() || nodes_[found.node].block != found.block || newest_ == found.node) return;
  unlink(found.node);
  link_as_newest(found.node);
}

void PrefixCache::link_as_newest(std::uint32_t node) {
  nodes_[node].newer = kNone;
  nodes_[node].older = newest_;
  (newest_ == kNone ? oldest_ : nodes_[newest_].newer) = node;
  newest_ = node;
}

void PrefixCache::unlink(std::uint32_t node) {
  const auto [newer, older] = std::pair(nodes_[node].newer, nodes_[node].older);
  (newer == kNone ? newest_ : nodes_[newer].older) = older;
  (older == kNone ? oldest_ : nodes_[older].newer) = newer;
}

std::shared_ptr<const PrefixCache::Block> PrefixCache::free_node(std::uint32_t node) {
  std::shared_ptr<const Block> block = std::move(nodes_[node].block);
  nodes_[node] = Node();
  free_nodes_.push_back(node);  // there is room
  statistics_.size_bytes -= block->bytes();
  --statistics_.blocks;
  return block;
}

std::shared_ptr<const PrefixCache::Block> PrefixCache::evict_oldest() {
  const std::uint32_t node = oldest_;
  unlink(node);
  std::shared_ptr<const Block> block = free_node(node);
  const auto erase = [&](std::uint64_t key) {
    const std::size_t place = slot_of(key);
    if (slots_[place].node == node) erase_slot(place);
  };
  erase(key_of_latest(block->key_before));
  std::for_each(block->cell_keys.begin(), block->cell_keys.end(), erase);
  return block;
}

}  // namespace hf_bpe
