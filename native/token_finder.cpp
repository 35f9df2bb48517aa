#include "token_finder.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <set>

namespace hf_bpe {
namespace {

template <class Integer>
Integer load(const Byte* bytes) {
  Integer value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// What is left of four bytes by this are the first three.
constexpr std::uint32_t kFirstThree = std::endian::native == std::endian::little ? 0x00FFFFFF : 0xFFFFFF00;

}  // namespace

TokenFinder::TokenFinder(const std::vector<std::string>& tokens) {
  for (const std::string& token : tokens) longest_ = std::max(longest_, token.size());
  make_trie(tokens);
  make_filter(tokens);
}

void TokenFinder::make_trie(const std::vector<std::string>& tokens) {
  std::vector<std::uint32_t> order(tokens.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return tokens[a] < tokens[b]; });

  // What begins alike is a node; of what begins so, that which ends there comes first.
  struct Node {
    std::size_t begin, end, depth;  // in `order`; how many bytes are alike
  };
  std::vector<Node> nodes = {{0, order.size(), 0}};
  bytes_.push_back(0);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    auto [begin, end, depth] = nodes[i];
    tokens_.push_back(kNone);
    children_.push_back(static_cast<std::uint32_t>(nodes.size()));
    for (; begin < end && tokens[order[begin]].size() == depth; ++begin) tokens_[i] = order[begin];
    while (begin < end) {
      const char byte = tokens[order[begin]][depth];
      const std::size_t first = begin;
      while (begin < end && tokens[order[begin]][depth] == byte) ++begin;
      nodes.push_back({first, begin, depth + 1});
      bytes_.push_back(static_cast<Byte>(byte));
    }
  }
  children_.push_back(static_cast<std::uint32_t>(nodes.size()));
  for (unsigned byte = 0; byte < 256; ++byte) roots_[byte] = find_child(0, static_cast<Byte>(byte));
}

void TokenFinder::make_filter(const std::vector<std::string>& tokens) {
  std::set<std::string> twos;
  for (const std::string& token : tokens) twos.insert(token.substr(0, 2));
  twos.erase("");
  if (twos.empty()) {
    next_ = &TokenFinder::next_of_none;
  } else if (twos.begin()->front() == twos.rbegin()->front()) {
    next_ = &TokenFinder::next_by_first_byte;
    first_byte_ = static_cast<Byte>(twos.begin()->front());
  } else {
    // Two bytes are looked up fastest, but many tokens begin like much of the text.
    constexpr std::size_t kFew = 32;
    make_starts(tokens, twos.size() <= kFew ? 2 : 4);
  }
}

void TokenFinder::make_starts(const std::vector<std::string>& tokens, std::size_t most_bytes) {
  std::vector<std::uint32_t> starts[5];  // by how many bytes they are of
  for (const std::string& token : tokens) {
    const std::size_t size = std::min({token.size(), most_bytes, sizeof(std::uint32_t)});
    Byte start[4] = {};
    std::memcpy(start, token.data(), size);
    if (size == 1) {  // and any byte behind it
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
  // At most one slot in sixteen is taken, and so about as many places of other text are looked at in vain.
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
    Byte found = 0;
    if constexpr (by_two) found |= two_[load<std::uint16_t>(at)];
    if constexpr (by_three) found |= three_.has(load<std::uint32_t>(at) & kFirstThree);
    if constexpr (by_four) found |= four_.has(load<std::uint32_t>(at));
    return found != 0;
  };
  for (; end - from >= 7; from += 4) {
    if (is_candidate(from)) return from;
    if (is_candidate(from + 1)) return from + 1;
    if (is_candidate(from + 2)) return from + 2;
    if (is_candidate(from + 3)) return from + 3;
  }
  return from;  // of the last few bytes any may begin a token
}

TokenFinder::Found TokenFinder::find(const Byte* from, const Byte* end) const {
  for (; (from = (this->*next_)(from, end)) < end; ++from) {
    Found found{end, end, kNone};
    visit_all_at(from, end, [&](const Byte* stop, std::uint32_t index) { found = {from, stop, index}; });
    if (found.begin < end) return found;
  }
  return {end, end, kNone};
}

bool TokenFinder::is_across(const Byte* begin, const Byte* at, const Byte* end) const {
  bool found = false;
  visit_all_around(begin, at, end, [&](const Byte* from, const Byte* stop, std::uint32_t) {
    found |= from < at && at < stop;
  });
  return found;
}

}  // namespace hf_bpe
