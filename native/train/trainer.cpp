#include "train/trainer.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>

#include "train/pair_index.hpp"

namespace hf_bpe {
namespace {

// Learns merges for words of the tokens in `learned`. Returns true when all requested merges are learned or no pair is
// left; false after a merge that makes an initial token. That merge is not applied, because earlier merges may continue
// from the token.
bool learn(TokenArray words, const TrainingOptions& options, const PollFunction& poll, Learned& learned) {
  auto& [tokens, merges, last_count] = learned;
  const std::unordered_set<std::string> initial(tokens.begin() + 256, tokens.end());
  PairIndex index(std::move(words), tokens, options, options.sharing, poll);
  while (merges.size() < options.max_merges) {
    index.index(options.max_merges - merges.size(), options.span);
    while (const PairIndex::Pair* best = index.best()) {
      const auto [first, second] = merges.emplace_back(best->first, best->second);
      last_count = best->count;
      std::string made = tokens[first] + tokens[second];
      if (initial.contains(made)) return merges.size() == options.max_merges;
      tokens.push_back(std::move(made));
      index.merge(first, second);
      if (merges.size() % 64 == 0) poll();
      if (merges.size() == options.max_merges) return true;
    }
    if (index.has_all()) break;
  }
  return true;
}

// Words and first merges as the engine of bytes takes them.
struct Input {
  Input(const Words& given, const FirstTokens::Merges& initial, const TrainingAlphabet& alphabet)
      : merges(alphabet.merges_of_bytes()) {
    if (!alphabet.is_bytes) runs.emplace(given, alphabet);
    words = runs ? static_cast<const Words*>(&*runs) : &given;
    merges.insert(merges.end(), initial.begin(), initial.end());
  }
  Input(const Input&) = delete;

  std::optional<CharacterRuns> runs;
  const Words* words;
  FirstTokens::Merges merges;
};

}  // namespace

Learned learn_merges(const Words& given, const FirstTokens::Merges& initial, const TrainingOptions& options,
                     const std::function<void(const Learned&)>& progress) {
  Learned learned;
  Input input(given, initial, options.alphabet);
  FirstTokens::Merges& merges = input.merges;
  const Words& words = *input.words;
  const std::size_t first = merges.size();
  for (;;) {
    const PollFunction poll = [&] { progress(learned); };
    FirstTokens first_tokens(merges, !options.alphabet.is_bytes);
    learned.tokens = first_tokens.bytes();
    TokenArray array(words, first_tokens, options.encoding, poll);
    if (learn(std::move(array), options, poll, learned)) return learned;
    for (std::size_t i = merges.size() - first; i < learned.merges.size(); ++i) {
      const auto [left, right] = learned.merges[i];
      merges.emplace_back(learned.tokens[left], learned.tokens[right]);
    }
  }
}

namespace {

// Some words, evenly distributed.
class Sample : public Words {
 public:
  Sample(const Words& words, std::size_t every) : words_(words), every_(every) {}
  void for_each(const Visit& visit) const override {
    std::size_t number = 0;
    words_.for_each([&](const Byte* word, std::size_t length, std::uint64_t count) {
      if (number++ % every_ == 0) visit(word, length, count);
    });
  }

 private:
  const Words& words_;
  const std::size_t every_;
};

struct Estimate {
  TokenArray::Size size;
  std::uint64_t working_bytes = 0;  // of encoding
};

// The size of the array for words after merges, from a sample of at most 16 MB, with a tenth to spare.
Estimate estimate_size(const Words& words, const FirstTokens::Merges& merges, const WordEncoding& encoding,
                       const PollFunction& poll) {
  constexpr std::uint64_t kSample = std::uint64_t{1} << 24;
  PollInLoop polls(poll);
  std::uint64_t bytes = 0, longest = 0;
  TokenArray::Size size;
  words.for_each([&](const Byte*, std::size_t length, std::uint64_t) {
    polls();
    bytes += length;
    longest = std::max<std::uint64_t>(longest, length);
    ++size.words;
  });
  const std::size_t every = static_cast<std::size_t>(bytes / kSample) + 1;
  std::size_t slots = 0;
  EncodedWords(Sample(words, every), FirstTokens(merges), encoding, poll)
      .for_each([&](const Symbol*, std::size_t tokens, std::uint64_t) { slots += tokens + 1; });
  size.slots += every == 1 ? slots : slots * every / 10 * 11;
  return {size, EncodedWords::working_bytes(bytes, longest, encoding.threads)};
}

// The memory for words of a size, without encoding.
// The constants are measured on texts of all kinds and on 5 million words. Memory that grows with the words is largest
// at an early index, with positions for 0.6 to 0.9 of the initial slots; memory that grows with the merges, at a late
// one. Long words come from text without a pattern, which has more pairs, and up to 1.4 times as many positions as
// slots.
std::uint64_t bytes_for(TokenArray::Size size, std::size_t max_merges, const Sharing& sharing) {
  const auto [slots, number_of_words] = size;
  const bool is_cut = slots / 64 < number_of_words;
  const std::uint64_t merges = std::min<std::uint64_t>(max_merges, slots);  // each merge removes at least one token
  const std::uint64_t places = slots * sizeof(Position) * (is_cut ? 2 : 3) / 2;  // places_, merged_
  const std::uint64_t estimates = PairScan::bytes_of_estimates(slots, sharing);
  // pairs_, numbers_, heap_, and what they grow from; the tables of each further part
  const std::uint64_t pairs = merges * ((is_cut ? 220 : 640) + (sharing.parts_of(slots) - 1) * 220);
  const std::uint64_t learned = merges * 140;  // Learned, widths_, new_pairs_, and what Python makes of the result
  const std::uint64_t in_part = std::min<std::uint64_t>(slots * 4, std::uint64_t{4} << 20);  // pages used in part
  return TokenArray::bytes(slots) + std::max(places, estimates + pairs) + learned + in_part;
}

}  // namespace

std::uint64_t training_bytes(const Words& given, const FirstTokens::Merges& initial, const TrainingOptions& options,
                             const PollFunction& poll) {
  const Input input(given, initial, options.alphabet);
  const Words& words = *input.words;
  const auto [size, encoding_bytes] = input.merges.empty() ? Estimate{TokenArray::measure(words, poll)}
                                                           : estimate_size(words, input.merges, options.encoding, poll);
  return encoding_bytes + bytes_for(size, options.max_merges, options.sharing);
}

}  // namespace hf_bpe
