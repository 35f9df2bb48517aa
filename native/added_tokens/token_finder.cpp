#include "added_tokens/token_finder.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <set>
#include <stdexcept>
#include <utility>

namespace hf_bpe {
namespace {

template <class Integer>
Integer load(const Byte* bytes) {
  Integer value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// The mask for the first three of four bytes.
constexpr std::uint32_t kFirstThree = std::endian::native == std::endian::little ? 0x00FFFFFF : 0xFFFFFF00;

// The length of the common prefix, up to `most`.
std::size_t common_bytes(const Byte* left, const Byte* right, std::size_t most) {
  std::size_t same = 0;
  while (most - same >= 8 && load<std::uint64_t>(left + same) == load<std::uint64_t>(right + same)) same += 8;
  while (same < most && left[same] == right[same]) ++same;
  return same;
}

}  // namespace

TokenFinder::TokenFinder(std::vector<std::string> tokens, std::size_t patience)
    : tokens_(std::move(tokens)), patience_(patience), automaton_(tokens_), prefixes_(tokens_.size(), kNone) {
  std::size_t bytes = 0;
  for (const std::string& token : tokens_) {
    longest_ = std::max(longest_, token.size());
    bytes += token.size();
  }
  if (bytes >= TokenAutomaton::kMaxBytes) throw std::length_error("the added tokens have 2**30 bytes or more together");
  make_trie();
  make_filter();
}

void TokenFinder::make_trie() {
  std::vector<std::uint32_t> order(tokens_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return tokens_[a] < tokens_[b]; });

  // Tokens with a common prefix form a node; the token that ends there comes first.
  struct Range {
    std::size_t begin, end, depth;  // a range in `order`; the length of its common prefix
    std::uint32_t prefix;           // the longest token that is a prefix
  };
  std::vector<Range> ranges = {{0, order.size(), 0, kNone}};
  bytes_.push_back(0);
  nodes_.push_back({1, kNone});
  for (std::size_t node = 0; node < ranges.size(); ++node) {
    auto [begin, end, depth, prefix] = ranges[node];
    nodes_[node].first_child = static_cast<std::uint32_t>(ranges.size());
    for (; begin < end && tokens_[order[begin]].size() == depth; ++begin) {
      if (depth != 0) nodes_[node].token = order[begin];
    }
    if (const std::uint32_t token = nodes_[node].token; token != kNone) prefixes_[token] = std::exchange(prefix, token);
    while (begin < end) {
      const std::size_t first = begin;
      const std::string& one = tokens_[order[first]];
      while (begin < end && tokens_[order[begin]][depth] == one[depth]) ++begin;
      // They are sorted, so a common prefix of the first and the last is common to all.
      const std::string& other = tokens_[order[begin - 1]];
      const auto rest = one.begin() + static_cast<std::ptrdiff_t>(depth) + 1;
      const auto alike = std::mismatch(rest, one.end(), other.begin() + (rest - one.begin()), other.end()).first;
      ranges.push_back({first, begin, static_cast<std::size_t>(alike - one.begin()), prefix});
      bytes_.push_back(static_cast<Byte>(one[depth]));
      const Byte* const more = reinterpret_cast<const Byte*>(one.data()) + depth + 1;
      nodes_.push_back({0, kNone, more, static_cast<std::size_t>(alike - rest)});
    }
  }
  nodes_.push_back({static_cast<std::uint32_t>(ranges.size()), kNone});
  for (unsigned byte = 0; byte < 256; ++byte) roots_[byte] = find_child(0, static_cast<Byte>(byte));
}

void TokenFinder::make_filter() {
  std::set<std::string> twos;
  for (const std::string& token : tokens_) twos.insert(token.substr(0, 2));
  twos.erase("");
  if (twos.empty()) {
    next_ = &TokenFinder::next_of_none;
  } else if (twos.begin()->front() == twos.rbegin()->front()) {
    next_ = &TokenFinder::next_by_first_byte;
    first_byte_ = static_cast<Byte>(twos.begin()->front());
  } else {
    // Two bytes are fastest to look up, but many tokens begin like much of the text.
    constexpr std::size_t kFew = 32;
    make_starts(twos.size() <= kFew ? 2 : 4);
  }
}

void TokenFinder::make_starts(std::size_t max_bytes) {
  std::vector<std::uint32_t> starts[5];  // by their number of bytes
  for (const std::string& token : tokens_) {
    const std::size_t size = std::min({token.size(), max_bytes, sizeof(std::uint32_t)});
    Byte start[4] = {};
    std::memcpy(start, token.data(), size);
    if (size == 1) {  // followed by any byte
      do {
        starts[2].push_back(load<std::uint16_t>(start));
      } while (++start[1] != 0);
    } else if (size == 2) {
      starts[2].push_back(load<std::uint16_t>(start));
    } else {
      starts[size].push_back(load<std::uint32_t>(start));
    }
  }
  if (!starts[2].empty()) two_.resize(1 << 16);
  for (const std::uint32_t start : starts[2]) two_[start] = 1;
  three_.insert(starts[3]);
  four_.insert(starts[4]);

  static constexpr Next kNext[2][2][2] = {
      {{&TokenFinder::next_of_none, &TokenFinder::next_by_starts<false, false, true>},
       {&TokenFinder::next_by_starts<false, true, false>, &TokenFinder::next_by_starts<false, true, true>}},
      {{&TokenFinder::next_by_starts<true, false, false>, &TokenFinder::next_by_starts<true, false, true>},
       {&TokenFinder::next_by_starts<true, true, false>, &TokenFinder::next_by_starts<true, true, true>}}};
  next_ = kNext[!two_.empty()][!three_.is_empty()][!four_.is_empty()];
}

void TokenFinder::Starts::insert(const std::vector<std::uint32_t>& starts) {
  if (starts.empty()) return;
  // At most one slot in sixteen is used, so about one in sixteen positions of other text is a false positive.
  slots_.resize(std::bit_ceil(std::max<std::size_t>(starts.size() * 16, 1 << 12)));
  shift_ = 32 - static_cast<unsigned>(std::countr_zero(slots_.size()));
  for (const std::uint32_t start : starts) slots_[slot_of(start)] = 1;
}

const Byte* TokenFinder::next_of_none(const Byte*, const Byte* end) const { return end; }

const Byte* TokenFinder::next_by_first_byte(const Byte* from, const Byte* end) const {
  const void* found = from < end ? std::memchr(from, first_byte_, static_cast<std::size_t>(end - from)) : nullptr;
  return found ? static_cast<const Byte*>(found) : end;
}

template <bool by_two, bool by_three, bool by_four>
const Byte* TokenFinder::next_by_starts(const Byte* from, const Byte* end) const {
  const auto is_candidate = [&](const Byte* at) {
    Byte marks = 0;
    if constexpr (by_two) marks |= two_[load<std::uint16_t>(at)];
    if constexpr (by_three) marks |= three_.has(load<std::uint32_t>(at) & kFirstThree);
    if constexpr (by_four) marks |= four_.has(load<std::uint32_t>(at));
    return marks != 0;
  };
  for (; end - from >= 7; from += 4) {
    if (is_candidate(from)) return from;
    if (is_candidate(from + 1)) return from + 1;
    if (is_candidate(from + 2)) return from + 2;
    if (is_candidate(from + 3)) return from + 3;
  }
  return from;  // any of the last few bytes may begin a token
}

inline TokenFinder::Found TokenFinder::longest_at(const Byte* from, const Byte* end, std::size_t& work) const {
  Found found{from, from, kNone};
  const Byte* at = from;
  std::size_t steps = 0;
  for (std::uint32_t node = roots_[*at]; node != kNone; node = find_child(node, *at)) {
    ++at;
    ++steps;
    const Node& reached = nodes_[node];
    if (reached.more_size != 0) {
      const std::size_t left = static_cast<std::size_t>(end - at);
      const std::size_t same = common_bytes(at, reached.more, std::min(reached.more_size, left));
      steps += same / 8;
      if (same < reached.more_size) break;
      at += same;
    }
    if (reached.token != kNone) found = {from, at, reached.token};
    if (at == end) break;
  }
  work += steps;
  return found;
}

TokenFinder::Found TokenFinder::Search::find(const Byte* from, const Byte* limit) {
  // The filters read a few bytes after a position.
  constexpr std::ptrdiff_t kAhead = 8;
  const Byte* const seen = end_ - limit > kAhead ? limit + kAhead : end_;
  for (;;) {
    if (from < known_) {
      while (!matches_.empty() && matches_.back().begin < from) matches_.pop_back();
      from = matches_.empty() ? known_ : matches_.back().begin;
      if (from >= limit) return {limit, limit, kNone};
      if (!matches_.empty()) return {from, from + finder_.size(matches_.back().index), matches_.back().index};
    }
    from = (finder_.*finder_.next_)(from, seen);
    if (from >= limit) return {limit, limit, kNone};
    const Found found = finder_.longest_at(from, end_, work_);
    if (is_too_much(from) && look_ahead(from)) continue;
    if (found.end != from) return found;
    ++from;
  }
}

// Searches the next block with the automaton, if creating it is worthwhile.
bool TokenFinder::Search::look_ahead(const Byte* from) {
  const TokenAutomaton* automaton = finder_.automaton_.get(work_ - work_before_);
  start_ = from;
  if (automaton != nullptr) {
    // At least as long as the text that has to be read after it.
    const std::size_t size = std::min(std::max(finder_.longest_, kBlock), static_cast<std::size_t>(end_ - from));
    start_ = known_ = from + size;
    matches_.clear();
    work_ += automaton->find_all(from, known_, end_, matches_);
  }
  work_before_ = work_;
  return automaton != nullptr;
}

}  // namespace hf_bpe
