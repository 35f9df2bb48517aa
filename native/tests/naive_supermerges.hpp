// Slow definitions of phrases and supermerges, for a test and a fuzzer of the core.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "count/counter.hpp"
#include "encode/phrase_merging.hpp"
#include "naive_encoding.hpp"
#include "text/phrases.hpp"

namespace naive {

inline bool is_mergeable(const std::string& word) { return hf_bpe::is_mergeable(begin_of(word), word.size()); }

// The longest runs of mergeable pre-tokens for which `is_part` says yes, and what is between them, one by one.
template <class IsPart>
std::vector<std::vector<std::string>> in_runs(const std::vector<std::string>& words, IsPart is_part) {
  std::vector<std::vector<std::string>> runs;
  bool is_open = false;
  for (const std::string& word : words) {
    const bool is_in = is_mergeable(word) && is_part(word);
    if (!is_in || !is_open) runs.emplace_back();
    runs.back().push_back(word);
    is_open = is_in;
  }
  return runs;
}

inline std::vector<std::uint32_t> encode_with_supermerges(const Model& model, const Merges& supermerges, Pattern pattern,
                                                          const std::string& text) {
  std::map<std::string, std::uint32_t> ids_of;
  for (const auto& [id, token] : model.tokens) ids_of[token] = id;
  const auto encoded = [&](const std::string& word) {
    std::vector<std::uint32_t> ids;
    encode_word(model, word, ids);
    return ids;
  };
  const auto is_whole = [&](const std::string& word) {
    return ids_of.contains(word) && encoded(word) == std::vector{ids_of.at(word)};
  };
  std::vector<std::uint32_t> ids;
  for (std::vector<std::string>& run : in_runs(split(pattern, text), is_whole)) {
    const bool is_run = is_mergeable(run[0]) && is_whole(run[0]);
    if (is_run) merge_parts(supermerges, run);
    for (const std::string& part : run) {
      const std::vector<std::uint32_t> more = is_run ? std::vector{ids_of.at(part)} : encoded(part);
      ids.insert(ids.end(), more.begin(), more.end());
    }
  }
  return ids;
}

inline void check_supermerges(const Model& model, const Merges& supermerges, Pattern pattern, const std::string& text,
                              unsigned threads, std::size_t chunk_bytes) {
  const Vocabulary::Tokens views(model.tokens.begin(), model.tokens.end());
  const std::vector<std::pair<std::string_view, std::string_view>> pairs(supermerges.begin(), supermerges.end());
  const Encoder encoder(model.vocabulary(), pattern, widest_simd(), chunk_bytes,
                        std::make_unique<const PhraseTables>(views, Vocabulary::find_tokens(views, pairs)));
  EncodingOptions options;
  options.unknown_id = kUnknown;
  options.threads = threads;
  const std::vector<std::uint32_t> expected = encode_with_supermerges(model, supermerges, pattern, text);
  const auto poll = [](std::size_t) {};
  const Encoder::Encoded found = encoder.encode({text_of(text)}, options, poll);
  CHECK(std::equal(found.ids.begin(), found.ids.end(), expected.begin(), expected.end()));
  CHECK(encoder.count({text_of(text)}, options, poll)[0] == static_cast<std::int64_t>(expected.size()));
  const Encoder::EncodedWithOffsets detailed = encoder.encode_with_offsets({text_of(text)}, options, decoder_of(model), poll);
  CHECK(std::equal(detailed.ids.begin(), detailed.ids.end(), expected.begin(), expected.end()));
  std::int64_t end = 0;
  for (const TokenOffsets& each : detailed.token_offsets) {
    CHECK(each.begin == end && each.begin < each.end);
    end = each.end;
  }
  CHECK(end == static_cast<std::int64_t>(text.size()));
  const std::size_t cut = encoder.find_last_cut(text_of(text), options, kNoPoll);
  std::vector<std::uint32_t> parts = encode_with_supermerges(model, supermerges, pattern, text.substr(0, cut));
  for (const std::uint32_t id : encode_with_supermerges(model, supermerges, pattern, text.substr(cut))) parts.push_back(id);
  CHECK(parts == expected);
}

inline WordMap count_phrases(Pattern pattern, const std::string& text) {
  WordMap phrases;
  for (const std::vector<std::string>& run : in_runs(split(pattern, text), [](const std::string&) { return true; })) {
    if (run.size() < 2) continue;
    std::string phrase;
    for (const std::string& word : run) phrase += (phrase.empty() ? "" : "\xFF") + word;
    ++phrases[phrase];
  }
  return phrases;
}

inline void check_phrases(Pattern pattern, const std::string& text, unsigned threads, std::size_t chunk_bytes) {
  CountingOptions options;
  options.pattern = pattern.of_phrases();
  options.threads = threads;
  options.chunk_bytes = chunk_bytes;
  Counter counter(options);
  counter.add({text_of(text)}, [](std::size_t) {});
  CHECK(to_map(counter.take()) == count_phrases(pattern, text));
}

// Encodes all phrases and counts all pairs before each supermerge.
inline Merges learn_supermerges(const WordMap& phrases, const Merges& merges, const Merges& initial,
                                const TrainingOptions& options) {
  Merges all = initial;
  while (all.size() < initial.size() + options.max_merges) {
    std::map<std::pair<std::string, std::string>, std::uint64_t> counts;
    for (const auto& [phrase, count] : phrases) {
      std::vector<std::string> words(1);
      for (const char byte : phrase) {
        if (byte == '\xFF') {
          words.emplace_back();
        } else {
          words.back() += byte;
        }
      }
      const auto is_whole = [&](const std::string& word) { return merge_word(merges, word).size() == 1; };
      for (std::vector<std::string>& run : in_runs(words, is_whole)) {
        if (!is_whole(run[0])) continue;
        merge_parts(all, run);
        for (std::size_t i = 0; i + 1 < run.size(); ++i) counts[{run[i], run[i + 1]}] += count;
      }
    }
    const std::pair<std::string, std::string>* best = nullptr;
    std::uint64_t most = 0;
    for (const auto& [pair, count] : counts) {  // ascending, so that ties go to the greatest
      if (count < std::max<std::uint64_t>(options.min_frequency, 1) || count < most) continue;
      if (!is_allowed(pair.first + pair.second, options.words)) continue;
      best = &pair;
      most = count;
    }
    if (best == nullptr) break;
    all.push_back(*best);
  }
  return {all.begin() + static_cast<std::ptrdiff_t>(initial.size()), all.end()};
}

inline void check_supertrainer(const WordMap& phrases, const Merges& merges, const Merges& initial,
                               const TrainingOptions& options) {
  const Learned learned =
      hf_bpe::learn_supermerges(to_table(phrases), merges, initial, options, [](const Learned&) {});
  Merges found;
  for (const auto& [first, second] : learned.merges) {
    found.emplace_back(learned.tokens.at(first), learned.tokens.at(second));
  }
  CHECK(found == learn_supermerges(phrases, merges, initial, options));
}

}  // namespace naive
