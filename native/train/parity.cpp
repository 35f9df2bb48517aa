#include "train/parity.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "merge/first_tokens.hpp"
#include "train/encoded_words.hpp"
#include "train/pair_index.hpp"

namespace hf_bpe {
namespace {

// The words of all languages.
class AllWords : public Words {
 public:
  explicit AllWords(const std::vector<const Words*>& parts) : parts_(parts) {}
  void for_each(const Visit& visit) const override {
    for (const Words* part : parts_) part->for_each(visit);
  }

 private:
  const std::vector<const Words*>& parts_;
};

std::uint64_t bytes_of(const Words& words) {
  std::uint64_t total = 0;
  words.for_each([&](const Byte*, std::size_t length, std::uint64_t count) {
    if (length > 0 && count > (std::numeric_limits<std::uint64_t>::max() - total) / length) {
      throw std::overflow_error("the pre-tokens of a language have 2**64 bytes or more; divide their counts");
    }
    total += length * count;
  });
  return total;
}

// Chooses languages by how badly off they are.
class Chooser {
 public:
  Chooser(const ParityOptions& options, std::size_t languages)
      : options_(options), threshold_(options.alpha / static_cast<double>(languages)), is_exhausted_(languages) {}

  void exhaust(std::size_t language) { is_exhausted_[language] = true; }
  bool has_none() const {
    return std::all_of(is_exhausted_.begin(), is_exhausted_.end(), [](bool each) { return each; });
  }

  // The language of the highest need, the first of equals.
  template <class Need>
  std::size_t choose(const std::vector<Need>& needs) {
    std::vector<bool> is_left = is_exhausted_;
    is_left.flip();
    if (options_.window == 0) return *highest(needs, is_left);
    const std::size_t language = choose_in_window(needs, is_left);
    last_.push_back(language);
    if (last_.size() > options_.window) last_.pop_front();
    return language;
  }

 private:
  template <class Need>
  static std::optional<std::size_t> highest(const std::vector<Need>& needs, const std::vector<bool>& is_left) {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < needs.size(); ++i) {
      if (is_left[i] && (!best || needs[i] > needs[*best])) best = i;
    }
    return best;
  }

  // Passes over languages that were chosen too often lately; if all were, takes the one that is best off, which was
  // looked at last.
  template <class Need>
  std::size_t choose_in_window(const std::vector<Need>& needs, std::vector<bool>& is_left) {
    for (std::size_t language = *highest(needs, is_left);;) {
      const auto often = static_cast<double>(std::count(last_.begin(), last_.end(), language));
      if (often / static_cast<double>(options_.window) <= threshold_) return language;
      is_left[language] = false;
      const std::optional<std::size_t> next = highest(needs, is_left);
      if (!next) return language;
      language = *next;
    }
  }

  const ParityOptions& options_;
  const double threshold_;
  std::vector<bool> is_exhausted_;
  std::deque<std::size_t> last_;
};

}  // namespace

Learned learn_parity_merges(const std::vector<const Words*>& languages, const std::vector<const Words*>& dev,
                            const ParityOptions& options, std::vector<std::size_t>& chosen,
                            const std::function<void(const Learned&)>& progress) {
  Learned learned;
  std::vector<std::string>& tokens = learned.tokens;
  auto& merges = learned.merges;
  const PollFunction poll = [&] { progress(learned); };
  FirstTokens first_tokens({});
  // Symbols of bytes are in the order of their printable characters. So is the order of tokens as strings of symbols.
  for (std::size_t symbol = 0; symbol < 256; ++symbol) {
    tokens.push_back(options.lexicographic ? first_tokens.bytes()[symbol] : std::string(1, static_cast<char>(symbol)));
  }
  LearningOptions any;
  any.max_token_bytes = options.max_token_bytes;
  const auto index_of = [&](const Words& words, const LearningOptions& which) {
    auto index = std::make_unique<PairIndex>(TokenArray(words, first_tokens, {}, poll), tokens, which, Sharing(), poll);
    index->index_all();
    return index;
  };
  std::vector<std::unique_ptr<PairIndex>> indexes, dev_indexes;
  std::unique_ptr<PairIndex> global;
  // Every pair is indexed, even those that are too rare for a merge of this language: others may merge them.
  for (const Words* words : languages) indexes.push_back(index_of(*words, any));
  if (options.ratios.empty()) {
    for (const Words* words : dev) dev_indexes.push_back(index_of(*words, any));
  }
  if (options.global_merges > 0) global = index_of(AllWords(languages), any);

  const std::vector<const Words*>& measured = dev_indexes.empty() ? languages : dev;
  std::vector<std::uint64_t> lengths;
  for (const Words* words : measured) lengths.push_back(bytes_of(*words));
  const std::vector<std::uint64_t> first_lengths = lengths;
  const auto choose = [&](Chooser& chooser) {
    if (options.ratios.empty()) return chooser.choose(lengths);
    std::vector<double> needs;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const double compression = static_cast<double>(first_lengths[i]) / static_cast<double>(lengths[i]);
      constexpr double kNone = -std::numeric_limits<double>::infinity();
      needs.push_back(lengths[i] == 0 ? kNone : -(compression / options.ratios[i]));  // a language may have no text
    }
    return chooser.choose(needs);
  };

  Chooser chooser(options, languages.size());
  while (merges.size() < options.max_merges && !chooser.has_none()) {
    const bool is_global = merges.size() < options.global_merges;
    const std::size_t language = is_global ? languages.size() : choose(chooser);
    const PairIndex::Pair* best = is_global ? global->best() : indexes[language]->best();
    if (best == nullptr || best->count < options.min_count()) {
      if (is_global) break;
      chooser.exhaust(language);
      continue;
    }
    const auto [first, second] = merges.emplace_back(best->first, best->second);
    learned.last_count = best->count;
    chosen.push_back(language);
    tokens.push_back(tokens[first] + tokens[second]);
    if (global) global->merge(first, second);
    if (global && merges.size() >= options.global_merges) global.reset();
    for (std::size_t i = 0; i < indexes.size(); ++i) {
      const std::uint64_t fewer = indexes[i]->merge(first, second);
      lengths[i] -= dev_indexes.empty() ? fewer : dev_indexes[i]->merge(first, second);
    }
    if (merges.size() % 64 == 0) poll();
  }
  if (!options.lexicographic) {
    for (std::string& token : tokens) {
      for (char& symbol : token) symbol = static_cast<char>(bytes_of_symbols()[static_cast<Byte>(symbol)]);
    }
  }
  return learned;
}

}  // namespace hf_bpe
