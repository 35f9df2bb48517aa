#include "train/token_array.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "merge/first_tokens.hpp"
#include "train/encoded_words.hpp"

namespace hf_bpe {
namespace {

[[noreturn]] void refuse_changed_words() { throw std::runtime_error("the words changed while a training read them"); }

// Calls `visit(tokens, number of tokens, count)` for each word of two bytes or more, with a byte as a token.
template <class Visit>
void for_each_word(const Words& words, const PollFunction& poll, Visit visit) {
  PollInLoop polls(poll);
  words.for_each([&](const Byte* word, std::size_t length, std::uint64_t count) {
    polls(length);
    if (length > 1) visit(word, length, count);
  });
}

}  // namespace

// The positions of the words of each count.
class TokenArray::Layout {
 public:
  struct Group {
    std::size_t size = 0;  // in slots; each word takes one more slot than it has tokens
    std::size_t next = 0;  // the position of the next word
    std::size_t end = 0;
  };

  // `for_each` calls a function with the tokens, their number and the count of each word.
  template <class ForEach>
  explicit Layout(ForEach for_each) {
    std::uint64_t pairs = 0;
    for_each([&](auto, std::size_t tokens, std::uint64_t count) {
      group(count).size += tokens + 1;
      ++size.words;
      if (count > (std::numeric_limits<std::uint64_t>::max() - pairs) / (tokens - 1)) {
        throw std::overflow_error("the pre-tokens hold 2**64 pairs of bytes or more; divide their counts");
      }
      pairs += count * (tokens - 1);
    });
    for_each_group([&](std::uint64_t, Group& group) {
      group.next = round_up(size.slots);
      size.slots = group.end = group.next + group.size;
    });
    if (size.slots > kInside) {
      throw std::length_error(
          "the distinct pre-tokens have more than 2**32 bytes in all; train on less text, leave out rare pre-tokens, "
          "or "
          "choose a pattern that cuts finer");
    }
  }

  Group& group(std::uint64_t count) { return count < few_.size() ? few_[count] : many_[count]; }

  // Calls `visit(count, group)` for each, the highest count first.
  template <class Visit>
  void for_each_group(Visit visit) {
    std::vector<std::uint64_t> high;
    for (const auto& entry : many_) high.push_back(entry.first);
    std::sort(high.begin(), high.end(), std::greater<>());
    for (const std::uint64_t count : high) visit(count, many_[count]);
    for (std::size_t count = few_.size(); count-- > 0;) {
      if (few_[count].size != 0) visit(count, few_[count]);
    }
  }

  Size size;  // total size; the first slot is a boundary

 private:
  std::vector<Group> few_ = std::vector<Group>(1 << 12);  // by count; most words have a low one
  std::unordered_map<std::uint64_t, Group> many_;
};

TokenArray::TokenArray(const Words& words, const FirstTokens& first_tokens, const WordEncoding& how,
                       const PollFunction& poll) {
  if (first_tokens.vocabulary() == nullptr) {
    const auto for_each = [&](auto visit) { for_each_word(words, poll, visit); };
    fill(Layout(for_each), for_each, [&](Byte byte) { return first_tokens.symbol_of(byte); });
    return;
  }
  fill(EncodedWords(words, first_tokens, how, poll), poll);
}

void TokenArray::fill(EncodedWords encoded, const PollFunction& poll) {
  PollInLoop polls(poll);
  const auto polling = [&](auto visit) {
    return [&, visit](const Symbol* tokens, std::size_t number, std::uint64_t count) {
      polls(number);
      visit(tokens, number, count);
    };
  };
  Layout layout([&](auto visit) { encoded.for_each(polling(visit)); });
  fill(std::move(layout), [&](auto visit) { encoded.take_each(polling(visit)); }, [](Symbol symbol) { return symbol; });
}

template <class ForEach, class SymbolOf>
void TokenArray::fill(Layout layout, ForEach for_each, SymbolOf symbol_of) {
  size = layout.size.slots;
  slots = Pages<Symbol>(size);
  counts = Pages<std::uint64_t>(size / kBlock + 1);
  std::size_t to = 0;
  slots[to++] = kBoundary;
  layout.for_each_group([&](std::uint64_t count, const Layout::Group& group) {
    fill_up_to(group.next, to);
    to = group.end;
    set_count(group.next, group.end, count);
  });
  for_each([&](auto tokens, std::size_t number, std::uint64_t count) {
    Layout::Group& group = layout.group(count);
    if (number >= group.end - group.next) refuse_changed_words();
    std::transform(tokens, tokens + number, &slots[group.next], symbol_of);
    group.next += number;
    slots[group.next++] = kBoundary;
  });
  layout.for_each_group([](std::uint64_t, const Layout::Group& group) {
    if (group.next != group.end) refuse_changed_words();
  });
}

TokenArray::Size TokenArray::measure(const Words& words, const PollFunction& poll) {
  return Layout([&](auto visit) { for_each_word(words, poll, visit); }).size;
}

// Each part is compacted where it is, and laid out as it will be, so that no word moves to a higher position. Then the
// parts are closed up.
void TokenArray::compact(const std::vector<std::uint32_t>& widths, const Sharing& sharing, const PollFunction& poll) {
  const std::size_t parts = sharing.parts_of(size);
  std::vector<std::vector<Group>> groups(parts);
  std::vector<std::size_t> begins = {1};
  while (begins.size() < parts) {
    std::size_t at = std::max(size * begins.size() / parts, begins.back());
    while (slots[at - 1] != kBoundary) ++at;
    begins.push_back(at);
  }
  begins.push_back(size);
  for_each_part(parts, poll, [&](std::size_t part, const PollFunction& poll_in_part) {
    groups[part] = compact(begins[part], begins[part + 1], widths, poll_in_part);
  });
  std::size_t to = 1;
  std::uint64_t last_count = 0;
  PollInLoop polls(poll);
  for (const std::vector<Group>& of_part : groups) {
    for (const auto& [begin, end, count] : of_part) {
      if (count != std::exchange(last_count, count)) fill_up_to(round_up(to), to);
      if (begin != to) std::memmove(&slots[to], &slots[begin], (end - begin) * sizeof(Symbol));
      set_count(to, to + (end - begin), count);
      to += end - begin;
      polls(end - begin);
    }
  }
  size = to;
  slots.shrink(size);
  counts.shrink(size / kBlock + 1);
}

std::vector<TokenArray::Group> TokenArray::compact(std::size_t at, std::size_t end,
                                                   const std::vector<std::uint32_t>& widths, const PollFunction& poll) {
  std::vector<Group> groups;
  const bool is_first = at == 1;
  std::size_t to = at;
  for (PollInLoop polls(poll); at < end; polls()) {
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
    if (groups.empty()) {
      to = is_first ? round_up(to) : at;  // where other parts end up depends on those before them
    } else if (groups.back().count != count) {
      fill_up_to(round_up(to), to);
    }
    if (groups.empty() || groups.back().count != count) groups.push_back({to, to, count});
    const std::size_t begin = to;
    for (Symbol symbol; (symbol = slots[at]) != kBoundary; at += widths[symbol]) slots[to++] = symbol;
    slots[to++] = kBoundary;
    groups.back().end = to;
    polls(to - begin);
  }
  return groups;
}

}  // namespace hf_bpe
