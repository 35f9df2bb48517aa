// Slow reference implementations of the core, for its tests and fuzzers.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "count/counter.hpp"
#include "patterns.hpp"
#include "train/trainer.hpp"

#define CHECK(condition)                                                                 \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)

namespace naive {

using namespace hf_bpe;
using WordMap = std::map<std::string, std::uint64_t>;
using Merges = std::vector<std::pair<std::string, std::string>>;

inline const Byte* begin_of(const std::string& text) { return reinterpret_cast<const Byte*>(text.data()); }
inline const Byte* end_of(const std::string& text) { return begin_of(text) + text.size(); }

inline std::vector<std::string> split(Pattern pattern, const std::string& text) {
  std::vector<std::string> pieces;
  std::size_t begin = 0;
  for (const std::size_t end : pre_token_ends(pattern, text)) {
    pieces.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return pieces;
}

inline std::vector<std::string> split_at(const std::vector<std::string>& specials, const std::string& text) {
  std::vector<std::string> documents(1);
  for (std::size_t at = 0; at < text.size();) {
    std::size_t longest = 0;
    for (const std::string& special : specials) {
      if (text.compare(at, special.size(), special) == 0) longest = std::max(longest, special.size());
    }
    if (longest == 0) {
      documents.back() += text[at++];
    } else {
      documents.emplace_back();
      at += longest;
    }
  }
  return documents;
}

inline void count(WordMap& words, const CountingOptions& options, const std::string& text) {
  for (const std::string& document : split_at(options.special_tokens, text)) {
    for (const std::string& piece : split(options.pattern, document)) ++words[piece];
  }
}

inline WordMap to_map(const WordCounts& counts) {
  WordMap words;
  Byte room[16];
  for (std::size_t slot = 0; slot < counts.slots(); ++slot) {
    if (counts.count_at(slot) == 0) continue;
    const std::string word(reinterpret_cast<const char*>(counts.word_at(slot, room)), counts.length_at(slot));
    CHECK(words.emplace(word, counts.count_at(slot)).second);
  }
  CHECK(words.size() == counts.size());
  return words;
}

// The sum of the counts of a counter's threads.
inline WordMap to_map(const std::vector<WordCounts>& parts) {
  WordMap words;
  for (const WordCounts& part : parts) {
    for (const auto& [word, count] : to_map(part)) words[word] += count;
  }
  return words;
}

inline WordCounts to_table(const WordMap& words) {
  WordCounts counts;
  for (const auto& [word, count] : words) counts.add(begin_of(word), word.size(), count);
  return counts;
}

// Applies the first applicable merge at its leftmost position, and starts again.
inline void merge_parts(const Merges& merges, std::vector<std::string>& parts) {
  for (bool is_merged = true; is_merged;) {
    is_merged = false;
    for (const auto& [first, second] : merges) {
      for (std::size_t i = 0; i + 1 < parts.size() && !is_merged; ++i) {
        if (parts[i] != first || parts[i + 1] != second) continue;
        parts[i] += parts[i + 1];
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        is_merged = true;
      }
      if (is_merged) break;
    }
  }
}

inline std::vector<std::string> merge_word(const Merges& merges, const std::string& word) {
  std::vector<std::string> parts;
  for (const char byte : word) parts.emplace_back(1, byte);
  merge_parts(merges, parts);
  return parts;
}

inline bool is_allowed(const std::string& token, const WordLimits& limits) {
  std::size_t words = 0;
  for (std::size_t i = 0; i < token.size(); ++i) {
    words += token[i] != ' ' && (i == 0 || token[i - 1] == ' ');
    if (!limits.colon_space && token.compare(i, 2, ": ") == 0) return false;
  }
  return words <= limits.max_words;
}

// Counts all pairs again for each merge, in words encoded with all merges so far.
inline Merges learn_merges(const WordMap& counts, const Merges& initial, const TrainingOptions& options) {
  Merges all = initial;
  std::vector<std::pair<std::vector<std::string>, std::uint64_t>> words;
  for (const auto& [word, count] : counts) words.emplace_back(merge_word(all, word), count);
  std::map<std::string, std::size_t> symbols;
  for (const Byte byte : bytes_of_symbols()) {
    const std::size_t next = symbols.size();
    symbols[std::string(1, static_cast<char>(byte))] = next;
  }
  const auto add_symbol = [&](const std::string& token) { return symbols.emplace(token, symbols.size()).second; };
  for (const auto& [first, second] : initial) {
    for (const std::string& token : {first, second, first + second}) add_symbol(token);
  }
  Merges merges;
  while (merges.size() < options.max_merges) {
    std::map<std::pair<std::string, std::string>, std::uint64_t> pairs;
    for (const auto& [tokens, count] : words) {
      for (std::size_t i = 0; i + 1 < tokens.size(); ++i) pairs[{tokens[i], tokens[i + 1]}] += count;
    }
    std::optional<std::pair<double, std::uint64_t>> best;
    std::pair<std::string, std::string> chosen;
    for (const auto& entry : pairs) {
      const auto& pair = entry.first;
      const std::uint64_t count = entry.second;
      const std::size_t length = pair.first.size() + pair.second.size();
      if (count < std::max<std::uint64_t>(options.min_frequency, 1) || length > options.max_token_bytes) continue;
      if (!is_allowed(pair.first + pair.second, options.words)) continue;
      const double penalty = options.length_penalty * static_cast<double>(length);
      // Without a penalty counts are compared as integers; with one, as doubles.
      const bool exact = options.length_penalty == 0;
      const std::pair<double, std::uint64_t> score(exact ? 0 : static_cast<double>(count) - penalty, exact ? count : 0);
      const auto is_first_of_tie = [&] {
        if (options.lexicographic) return pair > chosen;
        return std::pair(symbols[pair.first], symbols[pair.second]) <
               std::pair(symbols[chosen.first], symbols[chosen.second]);
      };
      if (!best || score > *best || (score == *best && is_first_of_tie())) {
        best = score;
        chosen = pair;
      }
    }
    if (!best) break;
    merges.push_back(chosen);
    all.push_back(chosen);
    const bool is_new = add_symbol(chosen.first + chosen.second);
    CHECK(is_new || !initial.empty());  // no two merges make the same bytes
    // The new merge applies only where no other does, so this continues where the merging so far ended.
    for (auto& entry : words) merge_parts(all, entry.first);
  }
  return merges;
}

// Splits with every implementation of the core, and checks that they agree.
inline void check_scanner(Pattern pattern, const std::string& original) {
  // At the end of an allocation, so that a sanitizer detects reads beyond it.
  const std::vector<char> copy(original.begin(), original.end());
  const Byte* begin = reinterpret_cast<const Byte*>(copy.data());
  const Byte* end = begin + copy.size();
  std::vector<const Byte*> expected;
  const Byte* next = begin;
  for (const std::size_t at : pre_token_ends(pattern, original)) {
    CHECK((next = next_pre_token(pattern, next, end)) == begin + at);
    expected.push_back(begin + at);
  }
  for (const Simd simd : {Simd::kScalar, widest_simd()}) {
    const Scanner scan(pattern, simd);
    for (const std::size_t capacity : std::vector<std::size_t>{1, 63, 64, 65, 200}) {
      std::vector<const Byte*> ends, some(capacity);
      for (const Byte* at = begin; at < end; at = ends.back()) {
        const std::size_t found = scan(at, end, some.data(), capacity);
        CHECK(found > 0 && found <= capacity);
        ends.insert(ends.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(found));
      }
      CHECK(ends == expected);
    }
  }
  // At a safe cut both parts have the pre-tokens of the whole.
  const std::vector<std::string> whole = split(pattern, original);
  for (const Byte* from = begin; from < end;) {
    const Byte* cut = find_safe_cut(pattern, begin, from, end);
    CHECK(cut >= from && cut > begin && cut <= end);
    for (; from <= cut && from < end; ++from) CHECK(find_safe_cut(pattern, begin, from, end) == cut);
    if (cut == end) break;
    std::vector<std::string> parts = split(pattern, std::string(begin, cut));
    for (const std::string& piece : split(pattern, std::string(cut, end))) parts.push_back(piece);
    CHECK(parts == whole);
  }
}

inline void check_counter(const CountingOptions& options, const std::vector<std::string>& texts) {
  WordMap expected;
  std::vector<Text> borrowed;
  for (const std::string& text : texts) {
    count(expected, options, text);
    borrowed.push_back({begin_of(text), end_of(text), false, false});
  }
  Counter counter(options);
  CHECK(!counter.add(borrowed, [](std::size_t) {}).invalid);
  CHECK(to_map(counter.take()) == expected);
}

inline void check_trainer(const WordMap& words, const Merges& initial, const TrainingOptions& options) {
  std::size_t reported = 0;
  const auto listen = [&](const Learned& learned) {
    CHECK(learned.merges.size() >= reported);
    reported = learned.merges.size();
  };
  const Learned learned = hf_bpe::learn_merges(to_table(words), initial, options, listen);
  Merges merges;
  for (const auto& [first, second] : learned.merges) {
    merges.emplace_back(learned.tokens.at(first), learned.tokens.at(second));
  }
  CHECK(merges == learn_merges(words, initial, options));
}

}  // namespace naive
