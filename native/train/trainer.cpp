// An index from pairs to their positions, with a heap of the pairs, kept small by two observations.
// A pair never becomes more frequent after the merge that made the younger of its two tokens: new pairs arise only with
// new tokens. So the positions of a pair are recorded once, when it arises, and checked before use; and the amount that
// a merge subtracts from a neighbouring pair is added to the pair that replaces it, as one sum for each distinct
// neighbour, however often it occurs.
// And a pair that is too rare now need not be indexed: all merges before it are of pairs in the index. So only the few
// pairs above a threshold are indexed; when none is left, the array is compacted and indexed again.

#include "train/trainer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <unordered_set>

#include "train/pair_table.hpp"

namespace hf_bpe {
namespace {

// A candidate pair, and its positions when it was indexed, in ascending order.
struct Pair {
  Symbol first, second;
  std::uint64_t count;
  std::size_t places;  // index of the first in the list of all
  std::uint32_t size;  // number of them
};

// An integer with the order of doubles.
std::uint64_t sortable(double number) {
  const auto bits = std::bit_cast<std::uint64_t>(number + 0.0);  // turns negative zero into zero
  const std::uint64_t sign = std::uint64_t{1} << 63;
  return bits & sign ? ~bits : bits | sign;
}

// More estimates are more exact, but fit in caches less well.
std::size_t number_of_estimates(std::size_t slots) {
  const std::size_t most = slots < std::size_t{1} << 24 ? 1 << 19 : 1 << 20;
  return std::bit_ceil(std::clamp<std::size_t>(slots / 2, 1 << 12, most));
}

class Trainer {
 public:
  // Learns more merges for words of the tokens in `learned`.
  Trainer(TokenArray words, const TrainingOptions& options, const PollFunction& poll, Learned& learned)
      : tokens_(std::move(words)),
        options_(options),
        poll_(poll),
        least_(std::max<std::uint64_t>(options.min_frequency, 1)),
        learned_(learned),
        bytes_(learned.tokens),
        merges_(learned.merges),
        known_(bytes_.begin() + 256, bytes_.end()),
        widths_(bytes_.size(), 1),
        new_pairs_(bytes_.size()) {}

  // Returns true when all requested merges are learned or no pair is left; false after a merge that makes an initial
  // token. That merge is not applied, because initial merges may continue from the token.
  bool learn() {
    while (merges_.size() < options_.max_merges) {
      index_pairs();
      if (!merge_from_heap()) return merges_.size() == options_.max_merges;
      if (merges_.size() == options_.max_merges || threshold_ == least_) break;
      tokens_.compact(widths_, poll_);
      std::fill(widths_.begin(), widths_.end(), 1);
    }
    return true;
  }

 private:
  struct Candidate {
    std::uint64_t score;
    std::uint32_t pair;
  };
  // The new pairs of a symbol next to a new token.
  struct NewPair {
    std::uint64_t count = 0;
    std::uint32_t size = 0;                  // number of positions
    std::uint32_t pair = PairTable::kNone;
  };

  void index_pairs();
  std::size_t estimate_counts(Pages<std::uint64_t>& estimates);
  void collect_pairs(Pages<std::uint64_t>& estimates, std::size_t likely);
  template <class Find, class Visit>
  void for_each_likely_pair(const Pages<std::uint64_t>& estimates, Find find, Visit visit);
  bool merge_from_heap();
  void merge(const Pair& pair);
  void replace(NewPair& new_pair, Symbol old_first, Symbol old_second, Symbol first, Symbol second);

  static std::size_t bucket_of(Symbol first, Symbol second, const Pages<std::uint64_t>& estimates) {
    return hash_pair(first, second) & (estimates.size() - 1);
  }

  // Visits each pair of neighbours while all tokens have one slot, and prefetches the estimates of those ahead.
  template <class Visit>
  void for_each_pair(const Pages<std::uint64_t>& estimates, Visit visit) {
    constexpr std::size_t kAhead = 16;
    const Symbol* slots = tokens_.slots.data();
    PollInLoop polls(poll_);
    for (std::size_t at = 1; at + 1 < tokens_.size; ++at) {
      polls();
      if (at + kAhead + 1 < tokens_.size) {
        prefetch(&estimates[bucket_of(slots[at + kAhead], slots[at + kAhead + 1], estimates)]);
      }
      if (slots[at] == TokenArray::kBoundary || slots[at + 1] == TokenArray::kBoundary) continue;
      visit(slots[at], slots[at + 1], static_cast<Position>(at));
    }
  }

  std::uint64_t score_of(const Pair& pair) const {
    if (options_.length_penalty == 0) return pair.count;
    const auto length = static_cast<double>(bytes_[pair.first].size() + bytes_[pair.second].size());
    return sortable(static_cast<double>(pair.count) - options_.length_penalty * length);
  }

  // Whether b is merged before a.
  bool is_merged_later(const Candidate& a, const Candidate& b) const {
    if (a.score != b.score) return a.score < b.score;
    const Pair& x = pairs_[a.pair];
    const Pair& y = pairs_[b.pair];
    if (!options_.lexicographic) return std::pair(x.first, x.second) > std::pair(y.first, y.second);
    if (x.first != y.first) return bytes_[x.first] < bytes_[y.first];
    return bytes_[x.second] < bytes_[y.second];
  }
  auto order() const {
    return [this](const Candidate& a, const Candidate& b) { return is_merged_later(a, b); };
  }

  bool is_candidate(const Pair& pair) const {
    return pair.count >= threshold_ && bytes_[pair.first].size() + bytes_[pair.second].size() <= options_.max_token_bytes;
  }

  TokenArray tokens_;
  const TrainingOptions& options_;
  const PollFunction& poll_;
  const std::uint64_t least_;  // rarer pairs are not merged

  Learned& learned_;
  std::vector<std::string>& bytes_;                   // the bytes of each token
  std::vector<std::pair<Symbol, Symbol>>& merges_;
  const std::unordered_set<std::string> known_;       // the initial tokens, except bytes
  std::vector<std::uint32_t> widths_;                 // the width of each token, in slots

  // The index of pairs that occur at least `threshold_` times; each has one candidate in the heap, whose score is
  // exact, or higher if its count has fallen since.
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

void Trainer::index_pairs() {
  places_ = PagedVector<Position>();  // first, for its memory
  heap_.clear();
  // Estimates, because exact counts of all pairs need a table that is far larger than any cache.
  Pages<std::uint64_t> estimates(number_of_estimates(tokens_.size));
  const std::size_t likely = estimate_counts(estimates);
  collect_pairs(estimates, likely);

  for (std::uint32_t pair = 0; pair < pairs_.size(); ++pair) heap_.push_back({score_of(pairs_[pair]), pair});
  std::make_heap(heap_.begin(), heap_.end(), order());
}

// Pairs in the same bucket are counted together, so no pair is more frequent than its bucket. Chooses the threshold,
// and returns the number of buckets that reach it.
std::size_t Trainer::estimate_counts(Pages<std::uint64_t>& estimates) {
  for_each_pair(estimates, [&](Symbol first, Symbol second, Position position) {
    estimates[bucket_of(first, second, estimates)] += tokens_.count_at(position);
  });
  const std::uint64_t highest = *std::max_element(estimates.begin(), estimates.end());

  // In texts of all kinds an index yields 0.6 to 0.9 merges per initial pair before it is used up; so this is enough
  // for all requested merges, unless it is too many to start with.
  const std::size_t left = std::min(options_.max_merges - merges_.size(), estimates.size());
  const std::size_t enough = std::min(left + left / 2, estimates.size() - 1);
  PagedVector<std::uint64_t> sorted(estimates.begin(), estimates.end());
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(enough), sorted.end(), std::greater<>());
  const std::uint64_t wanted = std::max(sorted[enough], highest / std::max<std::uint64_t>(options_.span, 1));
  threshold_ = std::max(least_, std::min(wanted, threshold_ / 4 * 3));  // lower each time, even if no pair was merged

  return static_cast<std::size_t>(
      std::count_if(estimates.begin(), estimates.end(), [&](std::uint64_t count) { return count >= threshold_; }));
}

// Visits the positions of pairs whose estimate reaches the threshold; `find` returns the number of a pair. Works in
// batches, so that many entries of each table are read at once.
template <class Find, class Visit>
void Trainer::for_each_likely_pair(const Pages<std::uint64_t>& estimates, Find find, Visit visit) {
  constexpr std::size_t kBatch = 64;
  std::array<Position, kBatch> batch;
  std::array<std::uint32_t, kBatch> pairs;
  std::size_t batched = 0;
  const Symbol* slots = tokens_.slots.data();
  const auto flush = [&] {
    for (std::size_t i = 0; i < batched; ++i) numbers_.prefetch(slots[batch[i]], slots[batch[i] + 1]);
    for (std::size_t i = 0; i < batched; ++i) {
      pairs[i] = find(slots[batch[i]], slots[batch[i] + 1]);
      if (pairs[i] != PairTable::kNone) prefetch(&pairs_[pairs[i]]);
    }
    for (std::size_t i = 0; i < batched; ++i) {
      if (pairs[i] != PairTable::kNone) visit(pairs_[pairs[i]], batch[i]);
    }
    batched = 0;
  };
  for_each_pair(estimates, [&](Symbol first, Symbol second, Position position) {
    batch[batched] = position;
    batched += estimates[bucket_of(first, second, estimates)] >= threshold_;
    if (batched == kBatch) flush();
  });
  flush();
}

// Indexes the pairs that reach the threshold, about `likely` of them, and consumes the estimates.
void Trainer::collect_pairs(Pages<std::uint64_t>& estimates, std::size_t likely) {
  pairs_.clear();
  numbers_.reset(likely);
  const auto insert = [&](Symbol first, Symbol second) {
    const auto next = static_cast<std::uint32_t>(pairs_.size());
    const std::uint32_t pair = numbers_.insert(first, second, next);
    if (pair == next) pairs_.push_back({first, second, 0, 0, 0});
    return pair;
  };
  for_each_likely_pair(estimates, insert, [&](Pair& pair, Position position) {
    pair.count += tokens_.count_at(position);
    ++pair.size;
  });

  // The others only share a bucket, or make too long a token; they are never merged.
  std::erase_if(pairs_, [&](const Pair& pair) { return !is_candidate(pair); });
  pairs_.shrink_to_fit();
  numbers_.reset(pairs_.size());
  std::fill(estimates.begin(), estimates.end(), 0);
  std::size_t places = 0;
  for (std::uint32_t number = 0; number < pairs_.size(); ++number) {
    Pair& pair = pairs_[number];
    numbers_.insert(pair.first, pair.second, number);
    estimates[bucket_of(pair.first, pair.second, estimates)] = pair.count;
    pair.places = places;
    places += std::exchange(pair.size, 0);
  }

  // A second pass is as fast as storing all positions until their number is known, and takes less memory.
  places_.reserve(places * 2);  // they grow to 1.1 to 1.6 times as many in texts of all kinds
  places_.resize(places);
  const auto find = [&](Symbol first, Symbol second) { return numbers_.find(first, second); };
  for_each_likely_pair(estimates, find, [&](Pair& pair, Position position) {
    places_[pair.places + pair.size++] = position;
  });
}

bool Trainer::merge_from_heap() {
  // No pair outside the index has a higher score than this; rounding of doubles may make it equal.
  const std::uint64_t rest = threshold_ - 1;
  const std::uint64_t uncertain = options_.length_penalty == 0 ? rest : sortable(static_cast<double>(rest));
  while (merges_.size() < options_.max_merges && !heap_.empty()) {
    if (heap_.front().score <= uncertain && threshold_ != least_) break;
    std::pop_heap(heap_.begin(), heap_.end(), order());
    Candidate best = heap_.back();
    heap_.pop_back();
    const Pair pair = pairs_[best.pair];
    if (pair.count < threshold_) continue;
    if (const std::uint64_t score = score_of(pair); score != best.score) {
      heap_.push_back({score, best.pair});
      std::push_heap(heap_.begin(), heap_.end(), order());
      continue;
    }
    merges_.emplace_back(pair.first, pair.second);
    learned_.last_count = pair.count;
    std::string made = bytes_[pair.first] + bytes_[pair.second];
    if (known_.contains(made)) return false;
    bytes_.push_back(std::move(made));
    merge(pair);
    if (merges_.size() % 64 == 0) poll_();
  }
  return true;
}

// Replaces the pair by the youngest token.
void Trainer::merge(const Pair& pair) {
  const Symbol first = pair.first;
  const Symbol second = pair.second;
  const auto token = static_cast<Symbol>(bytes_.size() - 1);
  const std::uint32_t first_width = widths_[first];
  const std::uint32_t width = first_width + widths_[second];
  widths_.push_back(width);
  new_pairs_.emplace_back();

  Symbol* slots = tokens_.slots.data();
  PollInLoop polls(poll_);
  merged_.clear();
  for (std::uint32_t i = 0; i < pair.size; ++i) {
    polls();
    constexpr std::uint32_t kAhead = 16;
    if (i + kAhead < pair.size) prefetch(&slots[places_[pair.places + i + kAhead]]);
    const Position at = places_[pair.places + i];
    if (slots[at] != first || slots[at + first_width] != second) continue;
    slots[at + first_width] = TokenArray::kInside;
    slots[at] = slots[at + width - 1] = token;
    merged_.push_back(at);
  }

  left_.clear();
  right_.clear();
  const auto add = [&](Symbol symbol, std::size_t side, std::vector<Symbol>& seen, std::uint64_t count) {
    NewPair& new_pair = new_pairs_[symbol][side];
    if (new_pair.size++ == 0) seen.push_back(symbol);
    new_pair.count += count;
  };
  // Two adjacent new tokens are one pair, seen from the left one.
  const auto is_on_left = [&](Symbol symbol) { return symbol != TokenArray::kBoundary && symbol != token; };
  for (const Position at : merged_) {
    polls();
    const std::uint64_t count = tokens_.count_at(at);
    if (is_on_left(slots[at - 1])) add(slots[at - 1], 0, left_, count);
    if (slots[at + width] != TokenArray::kBoundary) add(slots[at + width], 1, right_, count);
  }

  const std::size_t known = pairs_.size();
  for (const Symbol symbol : left_) replace(new_pairs_[symbol][0], symbol, first, symbol, token);
  for (const Symbol symbol : right_) {
    replace(new_pairs_[symbol][1], second, symbol == token ? first : symbol, token, symbol);
  }
  if (pairs_.size() > known) {
    const auto note = [&](const NewPair& new_pair, Position at) {
      if (new_pair.pair == PairTable::kNone) return;
      Pair& target = pairs_[new_pair.pair];
      places_[target.places + target.size++] = at;
    };
    for (const Position at : merged_) {
      polls();
      const Symbol left = slots[at - 1];
      if (is_on_left(left)) note(new_pairs_[left][0], at - widths_[left]);
      if (slots[at + width] != TokenArray::kBoundary) note(new_pairs_[slots[at + width]][1], at);
    }
    for (std::size_t i = known; i < pairs_.size(); ++i) {
      heap_.push_back({score_of(pairs_[i]), static_cast<std::uint32_t>(i)});
      std::push_heap(heap_.begin(), heap_.end(), order());
    }
  }
  for (const Symbol symbol : left_) new_pairs_[symbol][0] = {};
  for (const Symbol symbol : right_) new_pairs_[symbol][1] = {};
}

// Moves counts from the old pair to the new one, and indexes the new pair, without positions, if it is frequent enough.
void Trainer::replace(NewPair& new_pair, Symbol old_first, Symbol old_second, Symbol first, Symbol second) {
  const std::uint32_t old = numbers_.find(old_first, old_second);
  if (old != PairTable::kNone) pairs_[old].count -= new_pair.count;
  const Pair pair{first, second, new_pair.count, places_.size(), 0};
  if (!is_candidate(pair)) return;
  new_pair.pair = static_cast<std::uint32_t>(pairs_.size());
  numbers_.insert(first, second, new_pair.pair);
  pairs_.push_back(pair);
  places_.resize(places_.size() + new_pair.size);
}

}  // namespace

Learned learn_merges(const Words& words, const FirstTokens::Merges& initial, const TrainingOptions& options,
                     const std::function<void(const Learned&)>& progress) {
  Learned learned;
  FirstTokens::Merges merges = initial;
  for (;;) {
    const PollFunction poll = [&] { progress(learned); };
    FirstTokens first_tokens(merges);
    learned.tokens = first_tokens.bytes();
    TokenArray array(words, first_tokens, poll);
    if (Trainer(std::move(array), options, poll, learned).learn()) return learned;
    for (std::size_t i = merges.size() - initial.size(); i < learned.merges.size(); ++i) {
      const auto [first, second] = learned.merges[i];
      merges.emplace_back(learned.tokens[first], learned.tokens[second]);
    }
  }
}

// The constants are measured on texts of all kinds and on 5 million words. Memory that grows with the words is largest
// at an early index, with positions for 0.6 to 0.9 of the initial slots; memory that grows with the merges, at a late
// one. Long words come from text without a pattern, which has more pairs, and up to 1.4 times as many positions as
// slots.
std::uint64_t training_bytes(const Words& words, std::size_t max_merges, const PollFunction& poll) {
  const auto [slots, number_of_words] = TokenArray::measure(words, poll);
  const bool is_cut = slots / 64 < number_of_words;
  const std::uint64_t merges = std::min<std::uint64_t>(max_merges, slots);  // each merge removes at least one token
  const std::uint64_t places = slots * sizeof(Position) * (is_cut ? 2 : 3) / 2;            // places_, merged_
  const std::uint64_t estimates = number_of_estimates(slots) * 2 * sizeof(std::uint64_t);  // and their sorted copy
  const std::uint64_t pairs = merges * (is_cut ? 220 : 640);  // pairs_, numbers_, heap_, and what they grow from
  const std::uint64_t learned = merges * 140;  // Learned, widths_, new_pairs_, and what Python makes of the result
  const std::uint64_t in_part = std::min<std::uint64_t>(slots * 4, std::uint64_t{4} << 20);  // pages used in part
  return TokenArray::bytes(slots) + std::max(places, estimates + pairs) + learned + in_part;
}

}  // namespace hf_bpe
