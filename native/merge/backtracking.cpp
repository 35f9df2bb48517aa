#include "merge/backtracking.hpp"

#include <algorithm>
#include <utility>

#include "merge/merging.hpp"

namespace hf_bpe {

bool Backtracking::is_affordable(const Vocabulary& vocabulary) {
  // Tokens in real models have 7 bytes on average; the trie has fewer nodes than the tokens have bytes.
  constexpr std::size_t kMaxBytes = 32, kFew = std::size_t{1} << 16;
  const std::size_t bytes = vocabulary.symbol_bytes();
  return bytes <= kMaxBytes * vocabulary.symbols() + kFew && bytes < Children::kNone;
}

Backtracking::Backtracking(const Vocabulary& vocabulary, const PollFunction& poll)
    : vocabulary_(vocabulary), made_(vocabulary.symbols(), Made{kNone, kNone, 0, kNone, 0}) {
  std::vector<std::string> bytes(vocabulary.symbols());
  is_exact_ = find_parts(bytes, poll);
  if (is_exact_) build_trie(bytes, poll);
}

// Finds the parts of each symbol when merged as a word of its own, and clears the bytes of unreachable symbols. Returns
// whether all parts are older than their results.
bool Backtracking::find_parts(std::vector<std::string>& bytes, const PollFunction& poll) {
  const auto& merges = vocabulary_.merges();
  for (Symbol byte = 0; byte < 256; ++byte) {
    bytes[byte] = static_cast<char>(byte);
    made_[byte].size = 1;
  }
  PollInLoop polls(poll);
  for (Rank rank = 0; rank < merges.size(); ++rank) {
    const auto [first, second] = merges[rank];
    if (bytes[first].empty() || bytes[second].empty()) return false;
    std::string& made = bytes[vocabulary_.result(rank)];
    if (made.empty()) made = bytes[first] + bytes[second];
    polls(made.size());
  }
  Merger merger(vocabulary_);
  for (Symbol symbol = 256; symbol < bytes.size(); ++symbol) {
    std::string& word = bytes[symbol];
    polls(word.size());
    if (merger.merge(reinterpret_cast<const Byte*>(word.data()), word.size(), poll).size() != 1) {
      word.clear();
      continue;
    }
    const auto [first, second] = merges[merger.last_rank()];
    made_[symbol] = {first, second, merger.last_rank() + 1, kNone, word.size()};
  }
  for (const Made& made : made_) {
    if (made.age != 0 && (made_[made.first].age >= made.age || made_[made.second].age >= made.age)) return false;
  }
  return true;
}

// In byte order, so that the prefixes of a word precede it, and its common prefix with the preceding word is the
// existing part of its path.
void Backtracking::build_trie(const std::vector<std::string>& bytes, const PollFunction& poll) {
  PollInLoop polls(poll);
  std::vector<Symbol> sorted;
  for (Symbol symbol = 0; symbol < bytes.size(); ++symbol) {
    if (!bytes[symbol].empty()) sorted.push_back(symbol);
  }
  std::sort(sorted.begin(), sorted.end(), [&](Symbol a, Symbol b) {
    polls();
    return bytes[a] < bytes[b];
  });
  std::vector<std::size_t> shared(sorted.size());  // the length of each common prefix with the preceding word
  std::size_t nodes = 1;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const std::string& word = bytes[sorted[i]];
    if (i > 0) {
      const std::string& before = bytes[sorted[i - 1]];
      const auto [end, _] = std::mismatch(word.begin(), word.end(), before.begin(), before.end());
      shared[i] = static_cast<std::size_t>(end - word.begin());
    }
    nodes += word.size() - shared[i];
  }

  struct Step {
    std::uint32_t node;
    Symbol longest;  // the longest that ends here or before
  };
  std::vector<Step> path = {{0, kNone}};  // indexed by the number of bytes
  children_ = Children(nodes);
  nodes_.reserve(nodes);
  nodes_.push_back(kNone);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const std::string& word = bytes[sorted[i]];
    path.resize(shared[i] + 1);
    for (std::size_t at = shared[i]; at < word.size(); ++at) {
      polls();
      const auto node = static_cast<std::uint32_t>(nodes_.size());
      children_.insert(path.back().node, static_cast<Byte>(word[at]), node);
      nodes_.push_back(kNone);
      path.push_back({node, path.back().longest});
    }
    made_[sorted[i]].shorter = path.back().longest;
    path.back().longest = nodes_.back() = sorted[i];
  }
}

// The longest symbol that begins at `text`; kNone at the end.
Symbol Backtracking::longest(const Byte* text, const Byte* end, std::size_t& steps) const {
  Symbol found = kNone;
  const Byte* const begin = text;
  for (std::uint32_t node = 0; text < end; ++text) {
    node = children_.find(node, *text);
    if (node == Children::kNone) break;
    if (nodes_[node] != kNone) found = nodes_[node];
  }
  steps += static_cast<std::size_t>(text - begin);
  return found;
}

bool Backtracking::is_stable(Symbol first, Symbol second, std::size_t& steps) const {
  // The merges that ended the time of a part, in which one of the two merged with its other neighbor.
  std::uint32_t first_ends = 0xFFFFFFFF, second_ends = 0xFFFFFFFF;
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
    if (!is_dead[static_cast<std::size_t>(next_at - word)] &&
        (symbols.empty() || is_stable(symbols.back(), next, steps))) {
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
