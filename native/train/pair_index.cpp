#include "train/pair_index.hpp"

#include <algorithm>
#include <bit>
#include <functional>

namespace hf_bpe {
namespace {

// An integer with the order of doubles.
std::uint64_t sortable(double number) {
  const auto bits = std::bit_cast<std::uint64_t>(number + 0.0);  // turns negative zero into zero
  const std::uint64_t sign = std::uint64_t{1} << 63;
  return bits & sign ? ~bits : bits | sign;
}

}  // namespace

std::uint64_t PairIndex::score_of(const Pair& pair) const {
  if (options_.length_penalty == 0) return pair.count;
  const auto length = static_cast<double>(bytes_[pair.first].size() + bytes_[pair.second].size());
  return sortable(static_cast<double>(pair.count) - options_.length_penalty * length);
}

// Whether b is merged before a.
bool PairIndex::is_merged_later(const Candidate& a, const Candidate& b) const {
  if (a.score != b.score) return a.score < b.score;
  const Pair& x = pairs_[a.pair];
  const Pair& y = pairs_[b.pair];
  if (!options_.lexicographic) return std::pair(x.first, x.second) > std::pair(y.first, y.second);
  if (x.first != y.first) return bytes_[x.first] < bytes_[y.first];
  return bytes_[x.second] < bytes_[y.second];
}

void PairIndex::index(std::size_t merges, std::uint64_t span) {
  places_ = PagedVector<Position>();  // first, for its memory
  if (threshold_ != std::numeric_limits<std::uint64_t>::max()) {
    words_.compact(widths_, sharing_, poll_);
    std::fill(widths_.begin(), widths_.end(), 1);
  }
  const PairScan scan(words_, sharing_, poll_);
  Pages<std::uint64_t> estimates = scan.estimate_counts();
  choose_threshold(estimates, merges, span);
  collect_pairs(scan, std::move(estimates));
}

void PairIndex::index_all() {
  const PairScan scan(words_, sharing_, poll_);
  threshold_ = options_.min_count();
  collect_pairs(scan, scan.estimate_counts());
}

void PairIndex::choose_threshold(const Pages<std::uint64_t>& estimates, std::size_t merges, std::uint64_t span) {
  // Pairs that are more frequent than the last threshold are never merged.
  const std::uint64_t highest = std::min(*std::max_element(estimates.begin(), estimates.end()), threshold_);

  // In texts of all kinds an index yields 0.6 to 0.9 merges per initial pair before it is used up; so this is enough
  // for all requested merges, unless it is too many to start with. Some of many estimates tell well enough how many of
  // all reach a threshold, because their order is random.
  const std::size_t left = std::min(merges, estimates.size());
  const std::size_t sample = std::min(estimates.size(), std::size_t{1} << 20);
  const std::size_t every = estimates.size() / sample;
  const std::size_t enough = std::min((left + left / 2 + every - 1) / every, sample - 1);
  PagedVector<std::uint64_t> sorted(estimates.begin(), estimates.begin() + sample);
  const auto nth = sorted.begin() + static_cast<std::ptrdiff_t>(enough);
  std::nth_element(sorted.begin(), nth, sorted.end(), std::greater<>());
  const std::uint64_t wanted = std::max(*nth, highest / std::max<std::uint64_t>(span, 1));
  threshold_ =
      std::max(options_.min_count(), std::min(wanted, threshold_ / 4 * 3));  // lower each time, even without a merge
}

// Indexes the pairs that reach the threshold, about as many as estimates that do.
void PairIndex::collect_pairs(const PairScan& scan, Pages<std::uint64_t> estimates) {
  heap_.clear();
  PairFilter filter(estimates, threshold_);
  const auto expected = static_cast<std::size_t>(
      std::count_if(estimates.begin(), estimates.end(), [&](std::uint64_t count) { return count >= threshold_; }));
  const std::size_t buckets = estimates.size();
  estimates = Pages<std::uint64_t>();  // for its memory
  std::vector<PairCounts> counts = scan.count(filter, expected);
  add_up(counts);
  // The others only share a bucket, or make a token beyond the limits; they are never merged.
  std::erase_if(pairs_, [&](const Pair& pair) { return !is_candidate(pair); });
  pairs_.shrink_to_fit();

  numbers_.reset(pairs_.size());
  filter = PairFilter(buckets);
  std::size_t places = 0;
  for (std::uint32_t number = 0; number < pairs_.size(); ++number) {
    Pair& pair = pairs_[number];
    numbers_.insert(pair.first, pair.second, number);
    filter.add(pair.first, pair.second);
    pair.places = places;
    places += pair.size;
  }
  // A second pass is as fast as storing all positions until their number is known, and takes less memory.
  places_.reserve(places * 2);  // they grow to 1.1 to 1.6 times as many in texts of all kinds
  places_.resize(places);
  std::vector<PagedVector<std::size_t>> next = first_places(counts);
  counts.clear();
  scan.collect(filter, numbers_, next, places_);
  for (std::uint32_t pair = 0; pair < pairs_.size(); ++pair) heap_.push_back({score_of(pairs_[pair]), pair});
  std::make_heap(heap_.begin(), heap_.end(), by_score());
}

// Sets the pairs to those of all parts, in an unspecified order and without places.
void PairIndex::add_up(const std::vector<PairCounts>& parts) {
  pairs_.clear();
  const auto append = [this](const PairCount& pair) {
    pairs_.push_back({pair.first, pair.second, pair.count, 0, pair.size});
  };
  std::for_each(parts[0].begin(), parts[0].end(), append);
  if (parts.size() == 1) return;
  numbers_.reset(pairs_.size());
  for (std::uint32_t number = 0; number < pairs_.size(); ++number) {
    numbers_.insert(pairs_[number].first, pairs_[number].second, number);
  }
  for (std::size_t part = 1; part < parts.size(); ++part) {
    for (const PairCount& pair : parts[part]) {
      const auto next = static_cast<std::uint32_t>(pairs_.size());
      const std::uint32_t number = numbers_.insert(pair.first, pair.second, next);
      if (number == next) {
        append(pair);
      } else {
        pairs_[number].count += pair.count;
        pairs_[number].size += pair.size;
      }
    }
  }
}

// For each part where the positions of each pair begin.
std::vector<PagedVector<std::size_t>> PairIndex::first_places(const std::vector<PairCounts>& parts) const {
  std::vector<PagedVector<std::size_t>> first(parts.size());
  PagedVector<std::size_t> next;
  for (const Pair& pair : pairs_) next.push_back(pair.places);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    first[part] = next;
    if (part + 1 == parts.size()) break;
    for (const PairCount& pair : parts[part]) {
      const std::uint32_t number = numbers_.find(pair.first, pair.second);
      if (number != PairTable::kNone) next[number] += pair.size;
    }
  }
  return first;
}

const PairIndex::Pair* PairIndex::best() {
  // No pair outside the index has a higher score than this; rounding of doubles may make it equal.
  const std::uint64_t limit = threshold_ - 1;
  const std::uint64_t uncertain = options_.length_penalty == 0 ? limit : sortable(static_cast<double>(limit));
  while (!heap_.empty()) {
    const Candidate candidate = heap_.front();
    if (candidate.score <= uncertain && !has_all()) break;
    const Pair& pair = pairs_[candidate.pair];
    const std::uint64_t score = score_of(pair);
    if (pair.count >= threshold_ && score == candidate.score) return &pair;
    std::pop_heap(heap_.begin(), heap_.end(), by_score());
    heap_.pop_back();
    if (pair.count < threshold_) continue;
    heap_.push_back({score, candidate.pair});
    std::push_heap(heap_.begin(), heap_.end(), by_score());
  }
  return nullptr;
}

std::uint64_t PairIndex::merge(Symbol first, Symbol second) {
  const auto token = static_cast<Symbol>(bytes_.size() - 1);
  const std::uint32_t first_width = widths_[first];
  const std::uint32_t width = first_width + widths_[second];
  widths_.push_back(width);
  new_pairs_.emplace_back();
  if (!options_.words.allow_all()) token_words_.emplace_back(token_words_[first], token_words_[second]);
  const std::uint32_t number = numbers_.find(first, second);
  if (number == PairTable::kNone) return 0;
  const Pair pair = pairs_[number];

  Symbol* slots = words_.slots.data();
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
  std::uint64_t fewer = 0;
  for (const Position at : merged_) {
    polls();
    const std::uint64_t count = words_.count_at(at);
    fewer += count;
    if (is_on_left(slots[at - 1])) add(slots[at - 1], 0, left_, count);
    if (slots[at + width] != TokenArray::kBoundary) add(slots[at + width], 1, right_, count);
  }

  const std::size_t old_size = pairs_.size();
  for (const Symbol symbol : left_) replace(new_pairs_[symbol][0], symbol, first, symbol, token);
  for (const Symbol symbol : right_) {
    replace(new_pairs_[symbol][1], second, symbol == token ? first : symbol, token, symbol);
  }
  pairs_[number].count = 0;  // also where it overlapped with itself, as in three equal tokens
  if (pairs_.size() > old_size) {
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
    for (std::size_t i = old_size; i < pairs_.size(); ++i) {
      heap_.push_back({score_of(pairs_[i]), static_cast<std::uint32_t>(i)});
      std::push_heap(heap_.begin(), heap_.end(), by_score());
    }
  }
  for (const Symbol symbol : left_) new_pairs_[symbol][0] = {};
  for (const Symbol symbol : right_) new_pairs_[symbol][1] = {};
  return fewer;
}

// Moves counts from the old pair to the new one, and indexes the new pair, without positions, if it is frequent enough.
void PairIndex::replace(NewPair& new_pair, Symbol old_first, Symbol old_second, Symbol first, Symbol second) {
  const std::uint32_t old = numbers_.find(old_first, old_second);
  if (old != PairTable::kNone) pairs_[old].count -= new_pair.count;
  const Pair pair{first, second, new_pair.count, places_.size(), 0};
  if (!is_candidate(pair)) return;
  new_pair.pair = static_cast<std::uint32_t>(pairs_.size());
  numbers_.insert(first, second, new_pair.pair);
  pairs_.push_back(pair);
  places_.resize(places_.size() + new_pair.size);
}

}  // namespace hf_bpe
