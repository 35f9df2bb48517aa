#include "backtracking.hpp"

#include "merging.hpp"

namespace hf_bpe {

Backtracking::Backtracking(const Vocabulary& vocabulary)
    : vocabulary_(vocabulary), made_(vocabulary.symbols(), Made{kNone, kNone, 0, kNone, 0}) {
  std::vector<std::string> bytes(vocabulary.symbols());
  is_exact_ = find_parts(bytes);
  if (is_exact_) build_trie(bytes);
}

// Finds the parts that each symbol is merged from in a word of its own, and empties the bytes of those that no word is
// merged to. Returns whether all parts are older than what they make.
bool Backtracking::find_parts(std::vector<std::string>& bytes) {
  const auto& merges = vocabulary_.merges();
  for (Symbol byte = 0; byte < 256; ++byte) {
    bytes[byte] = static_cast<char>(byte);
    made_[byte].size = 1;
  }
  for (Rank rank = 0; rank < merges.size(); ++rank) {
    const auto [first, second] = merges[rank];
    if (bytes[first].empty() || bytes[second].empty()) return false;
    bytes[vocabulary_.result(rank)] = bytes[first] + bytes[second];
  }
  Merger merger(vocabulary_);
  for (Symbol symbol = 256; symbol < bytes.size(); ++symbol) {
    std::string& word = bytes[symbol];
    if (merger.merge(reinterpret_cast<const Byte*>(word.data()), word.size()).size() != 1) {
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

void Backtracking::build_trie(const std::vector<std::string>& bytes) {
  std::size_t size = 0;
  for (const std::string& word : bytes) size += word.size();
  children_.reset(size / 3);
  nodes_.assign(1, kNone);
  for (Symbol symbol = 0; symbol < bytes.size(); ++symbol) {
    std::uint32_t node = 0;
    for (const char byte : bytes[symbol]) {
      node = children_.insert(node, static_cast<Byte>(byte), static_cast<std::uint32_t>(nodes_.size()));
      if (node == nodes_.size()) nodes_.push_back(kNone);
    }
    if (node != 0) nodes_[node] = symbol;
  }
  for (Symbol symbol = 0; symbol < bytes.size(); ++symbol) {
    const auto* begin = reinterpret_cast<const Byte*>(bytes[symbol].data());
    if (!bytes[symbol].empty()) made_[symbol].shorter = longest(begin, begin + bytes[symbol].size() - 1);
  }
}

// The longest symbol that begins at `text`; kNone at the end.
Symbol Backtracking::longest(const Byte* text, const Byte* end) const {
  Symbol found = kNone;
  for (std::uint32_t node = 0; text < end; ++text) {
    node = children_.find(node, *text);
    if (node == PairTable::kNone) break;
    if (nodes_[node] != kNone) found = nodes_[node];
  }
  return found;
}

bool Backtracking::is_stable(Symbol first, Symbol second) const {
  // The merges that part of the time ended: where one of the two was merged with its other neighbour.
  std::uint32_t first_ends = 0xFFFFFFFF, second_ends = 0xFFFFFFFF;
  for (;;) {
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

void Backtracking::merge(const Byte* word, std::size_t length, std::vector<Symbol>& symbols) const {
  const Byte* const end = word + length;
  std::vector<bool> is_dead(length + 1);  // by place: from which the end is not reached
  symbols.clear();
  const Byte* at = word;
  Symbol next = longest(at, end);
  while (at != end) {
    if (next == kNone) {  // of single bytes there is always a way, so this is not the beginning
      is_dead[static_cast<std::size_t>(at - word)] = true;
      next = made_[symbols.back()].shorter;
      at -= made_[symbols.back()].size;
      symbols.pop_back();
      continue;
    }
    const Byte* behind = at + made_[next].size;
    if (!is_dead[static_cast<std::size_t>(behind - word)] && (symbols.empty() || is_stable(symbols.back(), next))) {
      symbols.push_back(next);
      at = behind;
      next = longest(at, end);
    } else {
      next = made_[next].shorter;
    }
  }
}

}  // namespace hf_bpe
