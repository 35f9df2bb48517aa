#include "merge/backtracking.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace hf_bpe {

bool Backtracking::is_affordable(const Vocabulary& vocabulary) {
  // Tokens in real models have 7 bytes on average; the trie has fewer nodes than the tokens have bytes.
  constexpr std::size_t kMaxBytes = 32, kFew = std::size_t{1} << 16;
  const std::size_t bytes = vocabulary.symbol_bytes();
  return bytes <= kMaxBytes * vocabulary.symbols() + kFew && bytes < Children::kNone;
}

std::vector<Rank> Backtracking::usable_merges(const Vocabulary& vocabulary, const Bytes& bytes,
                                              const PollFunction& poll) {
  const auto& merges = vocabulary.merges();
  std::vector<Byte> is_made(vocabulary.symbols());  // not of bits, which take longer
  for (Symbol byte = 0; byte < 256; ++byte) is_made[byte] = bytes[byte];
  std::vector<Rank> usable;
  PollInLoop polls(poll);
  for (Rank rank = 0; rank < merges.size(); ++rank) {
    polls();
    if ((is_made[merges[rank].first] & is_made[merges[rank].second]) == 0) continue;
    is_made[vocabulary.result(rank)] = true;
    usable.push_back(rank);
  }
  return usable;
}

namespace {

std::vector<Rank> all_merges(const Vocabulary& vocabulary) {
  std::vector<Rank> ranks(vocabulary.merges().size());
  std::iota(ranks.begin(), ranks.end(), Rank{0});
  return ranks;
}

}  // namespace

Backtracking::Backtracking(const Vocabulary& vocabulary, const PollFunction& poll)
    : Backtracking(vocabulary, all_merges(vocabulary), poll) {}

Backtracking::Backtracking(const Vocabulary& vocabulary, const std::vector<Rank>& merges, const PollFunction& poll)
    : vocabulary_(vocabulary), made_(vocabulary.symbols(), Made{kNone, kNone, 0, kNone, 0}) {
  is_exact_ = find_parts(merges, poll);
  if (is_exact_) build_trie(merges, poll);
}

// Finds the parts of each symbol when merged as a word of its own; the size of unreachable ones stays 0. A merge makes
// its result if its parts, each the result of merging its bytes, stay neighbors until its turn: so merging the bytes is
// not needed. Returns whether the parts of all merges are made before them, or never.
bool Backtracking::find_parts(const std::vector<Rank>& usable, const PollFunction& poll) {
  const auto& merges = vocabulary_.merges();
  std::vector<bool> is_result(made_.size());
  for (Symbol byte = 0; byte < 256; ++byte) {
    is_result[byte] = true;
    made_[byte].size = 1;
  }
  PollInLoop polls(poll);
  for (const Rank rank : usable) {
    const auto [first, second] = merges[rank];
    if (!is_result[first] || !is_result[second]) return false;
    const Symbol result = vocabulary_.result(rank);
    is_result[result] = true;
    std::size_t steps = 1;
    if (made_[first].size != 0 && made_[second].size != 0 && made_[result].size == 0 &&
        are_neighbors_until(rank + 1, first, second, steps)) {
      made_[result] = {first, second, rank + 1, kNone, made_[first].size + made_[second].size};
    }
    polls(steps);
  }
  for (const Rank rank : usable) {
    if (made_[merges[rank].first].age > rank || made_[merges[rank].second].age > rank) return false;
  }
  return true;
}

// In the order of merges, so that the path of a symbol begins with that of its first part, which exists.
void Backtracking::build_trie(const std::vector<Rank>& usable, const PollFunction& poll) {
  std::size_t size = 256, max_nodes = 1 + 256;
  for (const Rank rank : usable) {
    const Made& made = made_[vocabulary_.result(rank)];
    if (made.age != rank + 1) continue;
    size += made.size;
    max_nodes += made_[made.second].size;
  }
  children_ = Children(max_nodes);
  std::vector<Byte> bytes;  // of all symbols
  bytes.reserve(size);
  std::vector<std::size_t> begins(made_.size());  // of each symbol in `bytes`
  std::vector<std::uint32_t> ends(made_.size());  // of each symbol, a node
  std::vector<std::uint32_t> parents = {0};       // of each node; they have lower numbers
  nodes_ = {kNone};
  for (Symbol byte = 0; byte < 256; ++byte) {
    begins[byte] = bytes.size();
    bytes.push_back(static_cast<Byte>(byte));
    ends[byte] = child_of_root(bytes.back());
    parents.push_back(0);
    nodes_.push_back(byte);
  }
  PollInLoop polls(poll);
  for (const Rank rank : usable) {
    const Symbol symbol = vocabulary_.result(rank);
    const auto& [first, second, age, _, length] = made_[symbol];
    if (age != rank + 1) continue;
    polls(length);
    begins[symbol] = bytes.size();
    std::uint32_t node = ends[first];
    for (std::size_t i = 0; i < made_[first].size; ++i) bytes.push_back(bytes[begins[first] + i]);
    for (std::size_t i = 0; i < made_[second].size; ++i) {
      const Byte byte = bytes[begins[second] + i];
      bytes.push_back(byte);
      std::uint32_t next = children_.find(node, byte);
      if (next == Children::kNone) {
        next = static_cast<std::uint32_t>(nodes_.size());
        children_.insert(node, byte, next);
        parents.push_back(node);
        nodes_.push_back(kNone);
      }
      node = next;
    }
    ends[symbol] = node;
    nodes_[node] = symbol;
  }
  for (std::uint32_t node = 1; node < nodes_.size(); ++node) {
    polls();
    const Symbol before = nodes_[parents[node]];
    if (nodes_[node] == kNone) {
      nodes_[node] = before;
    } else {
      made_[nodes_[node]].shorter = before;
    }
  }
}

// The longest symbol that begins at `text`; kNone at the end.
Symbol Backtracking::longest(const Byte* text, const Byte* end, std::size_t& steps) const {
  if (text == end) return kNone;
  const Byte* const begin = text;
  std::uint32_t node = child_of_root(*text);
  while (++text < end) {
    const std::uint32_t next = children_.find(node, *text);
    if (next == Children::kNone) break;
    node = next;
  }
  steps += static_cast<std::size_t>(text - begin);
  return nodes_[node];
}

bool Backtracking::is_stable(Symbol first, Symbol second, std::size_t& steps) const {
  return are_neighbors_until(0xFFFFFFFF, first, second, steps);
}

bool Backtracking::are_neighbors_until(std::uint32_t age, Symbol first, Symbol second, std::size_t& steps) const {
  // The merges that ended the time of a part, in which one of the two merged with its other neighbor.
  std::uint32_t first_ends = age, second_ends = age;
  for (;;) {
    ++steps;
    const Rank rank = vocabulary_.rank(first, second);
    // Of equal ranks the leftmost is merged first: left of `first`, then between the two, then right of `second`.
    if (rank != Vocabulary::kNoMerge && rank + 1 < first_ends && rank + 1 <= second_ends) return false;
    const Made& left = made_[first];
    const Made& right = made_[second];
    if (left.age > right.age) {
      first_ends = left.age;
      first = left.second;
    } else if (right.age != 0) {
      second_ends = right.age;
      second = right.first;
    } else {
      return true;
    }
  }
}

bool Backtracking::merge(const Byte* word, std::size_t length, std::vector<Symbol>& symbols,
                         const PollFunction& poll) const {
  const Byte* const end = word + length;
  std::vector<bool> is_dead(length + 1);  // by position: whether the end cannot be reached from it
  PollInLoop polls(poll);
  const std::size_t head_start = std::min(length, kHeadStart);
  std::size_t steps = 0, polled_steps = 0;
  symbols.clear();
  const Byte* at = word;
  Symbol stable = kNone, after_stable = kNone;  // the last neighbors that are: in runs all are the same
  Symbol next = longest(at, end, steps);
  while (at != end) {
    polls(steps - std::exchange(polled_steps, steps));
    if (++steps > kMaxSteps * (static_cast<std::size_t>(at - word) + head_start)) return false;
    if (next == kNone) {  // single bytes always reach the end, so this is not the beginning
      is_dead[static_cast<std::size_t>(at - word)] = true;
      next = made_[symbols.back()].shorter;
      at -= made_[symbols.back()].size;
      symbols.pop_back();
      continue;
    }
    const Byte* next_at = at + made_[next].size;
    const auto is_stable_here = [&](Symbol before) {
      if (before == stable && next == after_stable) return true;
      if (!is_stable(before, next, steps)) return false;
      stable = before;
      after_stable = next;
      return true;
    };
    if (!is_dead[static_cast<std::size_t>(next_at - word)] && (symbols.empty() || is_stable_here(symbols.back()))) {
      symbols.push_back(next);
      at = next_at;
      next = longest(at, end, steps);
    } else {
      next = made_[next].shorter;
    }
  }
  return true;
}

}  // namespace hf_bpe
