// An index from pairs to their positions, with a heap of the pairs, kept small by two observations.
// A pair never becomes more frequent after the merge that made the younger of its two tokens: new pairs arise only with
// new tokens. So the positions of a pair are recorded once, when it arises, and checked before use; and the amount that
// a merge subtracts from a neighboring pair is added to the pair that replaces it, as one sum for each distinct
// neighbor, however often it occurs.
// And a pair that is too rare now need not be indexed: all merges before it are of pairs in the index. So only the few
// pairs above a threshold are indexed; when none is left, the array is compacted and indexed again.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "support/pages.hpp"
#include "support/poll.hpp"
#include "tables/pair_table.hpp"
#include "train/pair_scan.hpp"
#include "train/sharing.hpp"
#include "train/token_array.hpp"
#include "train/token_words.hpp"

namespace hf_bpe {

// Which pair is merged next, and which may be: LearningOptions of hf_bpe/reference/_options.py.
struct LearningOptions {
  bool lexicographic = true;        // ties go to the greatest pair of bytes; else to the smallest pair of symbols
  std::uint64_t min_frequency = 1;  // rarer pairs are not merged
  std::size_t max_token_bytes = std::numeric_limits<std::size_t>::max();
  double length_penalty = 0;
  WordLimits words;
  std::unordered_set<std::string> reserved;  // tokens that no merge makes

  // The lowest count of a pair that is merged.
  std::uint64_t min_count() const { return std::max<std::uint64_t>(min_frequency, 1); }
};

class PairIndex {
 public:
  // A pair, and its positions when it was indexed, in ascending order.
  struct Pair {
    Symbol first, second;
    std::uint64_t count;
    std::size_t places;  // index of the first in the list of all
    std::uint32_t size;  // number of them
  };

  // For words of the tokens in `tokens`, which must outlive the index, as `order` and `poll` must.
  PairIndex(TokenArray words, const std::vector<std::string>& tokens, const LearningOptions& options,
            const Sharing& sharing, const PollFunction& poll)
      : words_(std::move(words)),
        bytes_(tokens),
        options_(options),
        sharing_(sharing),
        poll_(poll),
        widths_(tokens.size(), 1),
        new_pairs_(tokens.size()) {
    for (const std::string& token : options.reserved) longest_reserved_ = std::max(longest_reserved_, token.size());
    if (options.words.allow_all()) return;
    for (const std::string& token : tokens) token_words_.emplace_back(token);
  }

  // Indexes pairs for about `merges` merges, and at most `span` times rarer than the commonest one. To be called first,
  // and again when there is no best pair, unless all are indexed.
  void index(std::size_t merges, std::uint64_t span);
  // Indexes all pairs.
  void index_all();
  bool has_all() const { return threshold_ == options_.min_count(); }

  // The pair to merge next, valid until then; nullptr if none in the index is certain to come before all others.
  const Pair* best();

  // Replaces a pair by the youngest token, and returns how many tokens fewer there are. If not all pairs are indexed,
  // the pair must be. To be called for each new token.
  std::uint64_t merge(Symbol first, Symbol second);

 private:
  struct Candidate {
    std::uint64_t score;
    std::uint32_t pair;
  };
  // The new pairs of a symbol next to a new token.
  struct NewPair {
    std::uint64_t count = 0;
    std::uint32_t size = 0;  // number of positions
    std::uint32_t pair = PairTable::kNone;
  };

  void choose_threshold(const Pages<std::uint64_t>& estimates, std::size_t merges, std::uint64_t span);
  void collect_pairs(const PairScan& scan, Pages<std::uint64_t> estimates);
  void add_up(const std::vector<PairCounts>& parts);
  std::vector<PagedVector<std::size_t>> first_places(const std::vector<PairCounts>& parts) const;
  void replace(NewPair& new_pair, Symbol old_first, Symbol old_second, Symbol first, Symbol second);

  std::uint64_t score_of(const Pair& pair) const;

  bool is_merged_later(const Candidate& a, const Candidate& b) const;
  auto by_score() const {
    return [this](const Candidate& a, const Candidate& b) { return is_merged_later(a, b); };
  }

  bool is_candidate(const Pair& pair) const {
    if (pair.count < threshold_) return false;
    const std::size_t size = bytes_[pair.first].size() + bytes_[pair.second].size();
    if (size > options_.max_token_bytes) return false;
    if (size <= longest_reserved_ && options_.reserved.contains(bytes_[pair.first] + bytes_[pair.second])) return false;
    return options_.words.allow_all() ||
           TokenWords(token_words_[pair.first], token_words_[pair.second]).are_within(options_.words);
  }

  TokenArray words_;
  const std::vector<std::string>& bytes_;  // the bytes of each token
  const LearningOptions& options_;
  const Sharing sharing_;
  const PollFunction& poll_;
  std::vector<std::uint32_t> widths_;    // the width of each token, in slots
  std::vector<TokenWords> token_words_;  // of each token, if words are limited
  std::size_t longest_reserved_ = 0;     // in bytes

  // Each pair that occurs at least `threshold_` times has one candidate in the heap, whose score is exact, or higher if
  // its count has fallen since.
  std::uint64_t threshold_ = std::numeric_limits<std::uint64_t>::max();
  PagedVector<Pair> pairs_;
  PairTable numbers_;
  PagedVector<Position> places_;
  std::vector<Candidate> heap_;

  // Used only inside `merge`; members to reuse their memory.
  PagedVector<std::array<NewPair, 2>> new_pairs_;  // by symbol: to the left and right of the new token
  PagedVector<Position> merged_;
  std::vector<Symbol> left_, right_;
};

}  // namespace hf_bpe
