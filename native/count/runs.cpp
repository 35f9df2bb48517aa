#include "count/runs.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "text/chunks.hpp"

namespace hf_bpe {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

[[noreturn]] void refuse(const char* why) { throw std::invalid_argument(why); }

// The first 8 bytes of a word as a number in the order of words, padded with zeros.
std::uint64_t prefix_of(const SortedWords& words) {
  Byte room[8] = {};
  std::memcpy(room, words.word(), std::min<std::size_t>(words.length(), 8));
  std::uint64_t prefix = 0;
  for (const Byte byte : room) prefix = prefix << 8 | byte;
  return prefix;
}

using Word = std::span<const Byte>;

int compare(Word a, Word b) {
  const std::size_t common = std::min(a.size(), b.size());
  const int order = common == 0 ? 0 : std::memcmp(a.data(), b.data(), common);  // an empty word may have no place
  if (order != 0) return order;
  return a.size() < b.size() ? -1 : a.size() > b.size();
}

Word word_of(const SortedWords& words) { return {words.word(), words.length()}; }

// The word of a sorted table, which `room`, of 16 bytes, may have to hold.
Word word_of(const WordCounts& table, std::size_t slot, Byte* room) {
  return {table.word_at(slot, room), table.length_at(slot)};
}

void append_varint(std::uint64_t number, std::string& to) {
  for (; number >= 0x80; number >>= 7) to.push_back(static_cast<char>(number | 0x80));
  to.push_back(static_cast<char>(number));
}

}  // namespace

bool RunReader::is_at_end() {
  if (at_ < end_) return false;
  at_ = 0;
  end_ = refill_(buffer_.data(), buffer_.size());
  return end_ == 0;
}

Byte RunReader::byte() {
  if (is_at_end()) refuse("it ends inside a record");
  return buffer_[at_++];
}

std::uint64_t RunReader::varint() {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const Byte next = byte();
    if (shift == 63 && next > 1) break;
    number |= std::uint64_t{next & 0x7Fu} << shift;
    if (next < 0x80) {
      if (next == 0 && shift != 0) refuse("a number is longer than necessary");
      return number;
    }
  }
  refuse("a number has more than 64 bits");
}

bool RunReader::next() {
  if (is_at_end()) return false;
  const std::uint64_t shared = varint();
  if (shared > bytes_.size()) refuse("a word shares more bytes than the preceding word has");
  std::uint64_t rest = varint();
  if (rest == 0) refuse("a word is no longer than what it shares");
  // The next byte must be greater than the one that it replaces.
  const bool is_longer = shared == bytes_.size();
  const Byte before = is_longer ? 0 : bytes_[shared];
  bytes_.resize(shared);
  while (rest != 0) {  // in pieces, because a wrong length must not allocate memory
    if (is_at_end()) refuse("it ends inside a record");
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(rest, end_ - at_));
    bytes_.insert(bytes_.end(), buffer_.begin() + static_cast<std::ptrdiff_t>(at_),
                  buffer_.begin() + static_cast<std::ptrdiff_t>(at_ + part));
    at_ += part;
    rest -= part;
  }
  if (!is_longer && bytes_[shared] <= before) refuse("words are not in order");
  word_ = bytes_.data();
  length_ = bytes_.size();
  count_ = varint();
  if (count_ == 0) refuse("a word has no count");
  return true;
}

void RunWords::for_each(const Visit& visit) const {
  for (RunReader reader(open_()); reader.next();) visit(reader.word(), reader.length(), reader.count());
}

RunMerger::RunMerger(std::vector<Input> inputs, std::uint64_t least, std::vector<Byte> before)
    : inputs_(std::move(inputs)), least_(least), last_(std::move(before)) {
  for (std::size_t input = 0; input < inputs_.size(); ++input) advance(input);
}

// Whether a's word comes after b's.
bool RunMerger::comes_after(const Head& a, const Head& b) const {
  if (a.prefix != b.prefix) return a.prefix > b.prefix;
  return compare(word_of(*inputs_[a.input].words), word_of(*inputs_[b.input].words)) > 0;
}

void RunMerger::advance(std::size_t input) {
  const SortedWords& words = *inputs_[input].words;
  if (!inputs_[input].words->next()) return;
  heap_.push_back({prefix_of(words), input});
  std::push_heap(heap_.begin(), heap_.end(), [this](const Head& a, const Head& b) { return comes_after(a, b); });
}

// The count of an input's word, multiplied.
std::uint64_t RunMerger::count_of(std::size_t input) const {
  const std::uint64_t multiplier = inputs_[input].multiplier;
  const std::uint64_t count = inputs_[input].words->count();
  if (multiplier != 0 && count > kMax / multiplier) {
    throw std::overflow_error("a pre-token was counted more than 2**64 - 1 times");
  }
  return count * multiplier;
}

// The same; then advances the input.
std::uint64_t RunMerger::take(std::size_t input) {
  const std::uint64_t count = count_of(input);
  std::pop_heap(heap_.begin(), heap_.end(), [this](const Head& a, const Head& b) { return comes_after(a, b); });
  heap_.pop_back();
  advance(input);
  return count;
}

void RunMerger::read(std::size_t bytes, std::string& piece, const PollFunction& poll) {
  PollInLoop polls(poll);
  while (piece.size() < bytes && heap_.size() > 1) {
    const Head first = heap_.front();
    const SortedWords& words = *inputs_[first.input].words;
    polls(words.length());
    word_.assign(words.word(), words.word() + words.length());
    std::uint64_t count = take(first.input);
    while (!heap_.empty() && heap_.front().prefix == first.prefix) {
      const SortedWords& same = *inputs_[heap_.front().input].words;
      if (same.length() != word_.size() || std::memcmp(same.word(), word_.data(), word_.size()) != 0) break;
      const std::uint64_t more = take(heap_.front().input);
      if (more > kMax - count) throw std::overflow_error("a pre-token was counted more than 2**64 - 1 times");
      count += more;
    }
    write(word_.data(), word_.size(), count, piece);
  }
  while (piece.size() < bytes && !heap_.empty()) {  // the last input, with nothing to merge with
    const std::size_t input = heap_.front().input;
    SortedWords& words = *inputs_[input].words;
    polls(words.length());
    write(words.word(), words.length(), count_of(input), piece);
    if (!words.next()) heap_.clear();
  }
}

void RunMerger::write(const Byte* word, std::size_t length, std::uint64_t count, std::string& piece) {
  if (count < least_) return;
  const std::size_t most = std::min(length, last_.size());
  std::size_t shared = 0;
  while (shared < most && word[shared] == last_[shared]) ++shared;
  append_varint(shared, piece);
  append_varint(length - shared, piece);
  piece.append(word + shared, word + length);
  append_varint(count, piece);
  last_.assign(word, word + length);
  add(1, count, 0);
}

namespace {

// The words of a sorted table from one slot to another.
class TableRange : public SortedWords {
 public:
  TableRange(const WordCounts& table, std::size_t begin, std::size_t end) : table_(table), next_(begin), end_(end) {}

  bool next() override {
    if (next_ == end_) return false;
    word_ = table_.word_at(next_, room_);
    length_ = table_.length_at(next_);
    count_ = table_.count_at(next_++);
    return true;
  }

 private:
  const WordCounts& table_;
  std::size_t next_, end_;
  Byte room_[16];
};

}  // namespace

TableMerger::TableMerger(std::vector<WordCounts> tables, const PollFunction& poll, std::size_t words_of_range)
    : tables_(std::move(tables)), next_(tables_.size()), words_of_range_(words_of_range) {
  const auto sort = [this](std::size_t, std::size_t table, const PollFunction& poll_in_chunk) {
    tables_[table].sort(poll_in_chunk);
    return true;
  };
  for_each_chunk(std::vector<Chunk>(tables_.size()), tables_.size(), sort, [&](std::size_t) { poll(); });
}

// The first words that are not before the one in a slot of a table.
TableMerger::Places TableMerger::places_from(std::size_t table, std::size_t slot) const {
  Byte room[16], other_room[16];
  const Word word = word_of(tables_[table], slot, room);
  Places places;
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    std::size_t low = next_[i], high = tables_[i].size();
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (compare(word_of(tables_[i], middle, other_room), word) < 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    places.push_back(low);
  }
  return places;
}

// The greatest word before all these places; empty if there is none.
std::vector<Byte> TableMerger::word_before(const Places& places) const {
  std::vector<Byte> last;
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    if (places[i] == 0) continue;
    Byte room[16];
    const Word word = word_of(tables_[i], places[i] - 1, room);
    if (compare({last.data(), last.size()}, word) < 0) last.assign(word.begin(), word.end());
  }
  return last;
}

// Where as many ranges as there are tables begin, and the last one ends; each has at most `words_of_range_` words of
// the table that has the most left.
std::vector<TableMerger::Places> TableMerger::next_ranges() const {
  std::size_t largest = 0, most = 0;
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    if (tables_[i].size() - next_[i] > most) {
      largest = i;
      most = tables_[i].size() - next_[i];
    }
  }
  std::vector<Places> ranges = {next_};
  while (most > 0 && ranges.size() <= tables_.size()) {
    const std::size_t words = ranges.size() * words_of_range_;
    if (words >= most) {
      Places& ends = ranges.emplace_back();
      for (const WordCounts& table : tables_) ends.push_back(table.size());
      break;
    }
    ranges.push_back(places_from(largest, next_[largest] + words));
  }
  return ranges;
}

void TableMerger::read(std::size_t bytes, std::string& piece, const PollFunction& poll) {
  while (piece.size() < bytes) {
    const std::vector<Places> ranges = next_ranges();
    struct Part {
      std::optional<RunMerger> merger;
      std::string run;
    };
    std::vector<Part> parts(ranges.size() - 1);
    if (parts.empty()) return;
    const auto merge = [&](std::size_t, std::size_t i, const PollFunction& poll_in_chunk) {
      std::vector<RunMerger::Input> inputs;
      for (std::size_t table = 0; table < tables_.size(); ++table) {
        inputs.push_back({std::make_unique<TableRange>(tables_[table], ranges[i][table], ranges[i + 1][table])});
      }
      auto& [merger, run] = parts[i];
      merger.emplace(std::move(inputs), 1, word_before(ranges[i]));
      merger->read(static_cast<std::size_t>(-1), run, poll_in_chunk);
      return true;
    };
    for_each_chunk(std::vector<Chunk>(parts.size()), tables_.size(), merge, [&](std::size_t) { poll(); });
    for (const auto& [merger, run] : parts) {
      piece += run;
      add(merger->words(), merger->total_low(), merger->total_high());
    }
    next_ = ranges.back();
  }
}

}  // namespace hf_bpe
