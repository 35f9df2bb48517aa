#include "token_array.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace hf_bpe {
namespace {

// The slots of the table that hold words of two bytes or more, the commonest first.
std::vector<std::size_t> sort_by_count(const WordCounts& counts) {
  constexpr std::uint64_t kFew = 1 << 12;  // counts below this are sorted by counting, the fewer others by comparing
  std::vector<std::size_t> begins(kFew);   // of the words of count kFew - 1, then kFew - 2, …
  std::vector<std::size_t> sorted;
  const auto for_each_word = [&](auto visit) {
    for (std::size_t slot = 0; slot < counts.slots(); ++slot) {
      const std::uint64_t count = counts.count_at(slot);
      if (count != 0 && !counts.is_one_byte_at(slot)) visit(slot, count);
    }
  };
  for_each_word([&](std::size_t slot, std::uint64_t count) {
    if (count < kFew) {
      ++begins[kFew - 1 - count];
    } else {
      sorted.push_back(slot);
    }
  });
  std::sort(sorted.begin(), sorted.end(),
            [&](std::size_t a, std::size_t b) { return counts.count_at(a) > counts.count_at(b); });
  std::size_t total = sorted.size();
  for (std::size_t& begin : begins) total += std::exchange(begin, total);
  sorted.resize(total);
  for_each_word([&](std::size_t slot, std::uint64_t count) {
    if (count < kFew) sorted[begins[kFew - 1 - count]++] = slot;
  });
  return sorted;
}

}  // namespace

TokenArray::TokenArray(const WordCounts& word_counts, const Symbol (&symbol_of)[256]) {
  const std::vector<std::size_t> sorted = sort_by_count(word_counts);

  // Long words and the slots of their table are fetched ahead: they are in no order that the machine could guess.
  const auto for_each_word = [&](auto visit) {
    constexpr std::size_t kAhead = 16;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      if (i + 2 * kAhead < sorted.size()) word_counts.prefetch(sorted[i + 2 * kAhead]);
      if (i + kAhead < sorted.size()) word_counts.prefetch_word(sorted[i + kAhead]);
      visit(sorted[i], word_counts.count_at(sorted[i]), word_counts.length_at(sorted[i]));
    }
  };
  size = 1;  // a boundary before the first word
  std::uint64_t last_count = 0;
  std::uint64_t pairs = 0;
  for_each_word([&](std::size_t, std::uint64_t count, std::uint64_t length) {
    if (count != std::exchange(last_count, count)) size = round_up(size);
    size += length + 1;
    if (count > (std::numeric_limits<std::uint64_t>::max() - pairs) / (length - 1)) {
      throw std::overflow_error("the pre-tokens hold 2**64 pairs of bytes or more; divide their counts");
    }
    pairs += count * (length - 1);
  });
  if (size > kInside) {
    throw std::length_error(
        "the distinct pre-tokens have more than 2**32 bytes in all; train on less text, leave out rare pre-tokens, or "
        "choose a pattern that cuts finer");
  }

  slots = Pages<Symbol>(size);
  counts = Pages<std::uint64_t>(size / kBlock + 1);
  std::size_t to = 0;
  slots[to++] = kBoundary;
  last_count = 0;
  for_each_word([&](std::size_t slot, std::uint64_t count, std::size_t length) {
    if (count != std::exchange(last_count, count)) fill_up_to(round_up(to), to);
    Byte room[16];
    const Byte* word = word_counts.word_at(slot, room);
    const std::size_t begin = to;
    for (std::size_t i = 0; i < length; ++i) slots[to++] = symbol_of[word[i]];
    slots[to++] = kBoundary;
    set_count(begin, to, count);
  });
}

void TokenArray::compact(const std::vector<std::uint32_t>& widths) {
  std::size_t to = 1;
  std::uint64_t last_count = 0;
  for (std::size_t at = 1; at < size;) {
    if (slots[at] == kBoundary) {
      ++at;
      continue;
    }
    const std::size_t second = at + widths[slots[at]];
    if (slots[second] == kBoundary) {
      at = second + 1;
      continue;
    }
    const std::uint64_t count = count_at(at);
    if (count != std::exchange(last_count, count)) fill_up_to(round_up(to), to);
    const std::size_t begin = to;
    for (Symbol symbol; (symbol = slots[at]) != kBoundary; at += widths[symbol]) slots[to++] = symbol;
    slots[to++] = kBoundary;
    set_count(begin, to, count);
  }
  size = to;
}

}  // namespace hf_bpe
