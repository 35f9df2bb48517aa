#include "count/runs.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "text/chunks.hpp"

namespace hf_bpe {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

[[noreturn]] void refuse(const char* why) { throw std::invalid_argument(why); }

// The first 8 bytes of a word as a number in the order of words, padded with zeros.
std::uint64_t prefix_of(const SortedWords& words) {
  Byte room[8] = {};
  std::memcpy(room, words.word(), std::min<std::size_t>(words.length(), 8));
  std::uint64_t prefix = 0;
  for (const Byte byte : room) prefix = prefix << 8 | byte;
  return prefix;
}

int compare(const SortedWords& a, const SortedWords& b) {
  const int order = std::memcmp(a.word(), b.word(), std::min(a.length(), b.length()));
  if (order != 0) return order;
  return a.length() < b.length() ? -1 : a.length() > b.length();
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

bool TableReader::next() {
  if (next_ == table_.size()) return false;
  word_ = table_.word_at(next_, room_);
  length_ = table_.length_at(next_);
  count_ = table_.count_at(next_++);
  return true;
}

RunMerger::RunMerger(std::vector<Input> inputs, std::uint64_t least) : inputs_(std::move(inputs)), least_(least) {
  for (std::size_t input = 0; input < inputs_.size(); ++input) advance(input);
}

// Whether a's word comes after b's.
bool RunMerger::comes_after(const Head& a, const Head& b) const {
  if (a.prefix != b.prefix) return a.prefix > b.prefix;
  return compare(*inputs_[a.input].words, *inputs_[b.input].words) > 0;
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
  if (multiplier != 0 && count > kMost / multiplier) {
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
      if (more > kMost - count) throw std::overflow_error("a pre-token was counted more than 2**64 - 1 times");
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
  ++words_;
  total_low_ += count;
  total_high_ += total_low_ < count;
}

std::vector<RunMerger::Input> sort_all(std::vector<WordCounts> tables, const PollFunction& poll) {
  std::vector<RunMerger::Input> inputs(tables.size());
  const std::vector<Chunk> chunks(tables.size());
  const auto sort = [&](std::size_t, std::size_t i, const PollFunction& poll_in_chunk) {
    inputs[i].words = std::make_unique<TableReader>(std::move(tables[i]), poll_in_chunk);
    return true;
  };
  for_each_chunk(chunks, tables.size(), sort, [&](std::size_t) { poll(); });
  return inputs;
}

}  // namespace hf_bpe
