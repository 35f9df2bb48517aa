// Tests of phrases and supermerges without Python, for sanitizers.
#include <random>

#include "examples.hpp"
#include "naive_supermerges.hpp"
#include "tests/patterns.hpp"

namespace {

using namespace naive;

std::mt19937 source(11);

std::size_t draw(std::size_t below) { return source() % below; }

template <class T>
const T& draw_from(const std::vector<T>& values) {
  return values[draw(values.size())];
}

const std::vector<std::string> kWords = {"a", "b", "ab", " a", " b", " ab", "é", " é", "1", " 1", ".", ", ", "\n", "'s", "\xFF", "5\t", "  "};

std::string draw_text(std::size_t words) {
  std::string text;
  for (std::size_t i = draw(words); i > 0; --i) text += draw_from(kWords);
  return text;
}

Merges draw_supermerges(std::vector<std::string>& tokens, std::size_t most) {
  Merges merges;
  for (std::size_t i = draw(most); i > 0; --i) {
    const std::pair pair(draw_from(tokens), draw_from(tokens));
    if (pair.first.size() + pair.second.size() > 12) continue;
    if (std::find(merges.begin(), merges.end(), pair) != merges.end()) continue;
    merges.push_back(pair);
    tokens.push_back(pair.first + pair.second);
  }
  return merges;
}

const Merges kMerges = {{"a", "b"}, {" ", "a"}, {" ", "b"}, {" a", "b"}, {"\xC3", "\xA9"}, {"'", "s"}};
const std::vector<std::string> kWhole = {"a", "b", "ab", " a", " b", " ab", "é"};

void test_runs() {
  for (int i = 0; i < examples(3000); ++i) {
    std::vector<Supermerges::Merge> merges;
    std::set<std::pair<std::uint32_t, std::uint32_t>> known;
    for (std::size_t j = draw(30); j > 0; --j) {
      const auto first = static_cast<std::uint32_t>(draw(8)), second = static_cast<std::uint32_t>(draw(8));
      if (known.insert({first, second}).second) merges.push_back({first, second, static_cast<std::uint32_t>(draw(12))});
    }
    const Supermerges table(merges);
    std::vector<std::uint32_t> run(draw(100)), expected;
    for (std::uint32_t& id : run) id = static_cast<std::uint32_t>(draw(8));
    expected = run;
    const std::size_t before = run.size();
    for (bool is_merged = true; is_merged;) {
      is_merged = false;
      for (const auto& [first, second, result] : merges) {
        for (std::size_t at = 0; at + 1 < expected.size() && !is_merged; ++at) {
          if (expected[at] != first || expected[at + 1] != second) continue;
          expected[at] = result;
          expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(at) + 1);
          is_merged = true;
        }
        if (is_merged) break;
      }
    }
    Supermerger merger(table);
    run.resize(merger.merge(run.data(), run.size(), kNoPoll));
    CHECK(run == expected);
    std::size_t covered = 0;
    for (std::size_t at = 0; at < run.size(); ++at) covered += merger.widths()[at];
    CHECK(covered == before);
  }
}

void test_encoding() {
  for (int i = 0; i < threaded_examples(1500); ++i) {
    std::vector<std::string> tokens = kWhole;
    const Merges supermerges = draw_supermerges(tokens, 20);
    Model model{{}, {kMerges.begin(), kMerges.begin() + static_cast<std::ptrdiff_t>(draw(kMerges.size() + 1))}};
    std::set<std::string> all(tokens.begin(), tokens.end());
    for (const auto& [first, second] : kMerges) all.insert({first, second, first + second});
    for (int byte = 0; byte < 256; ++byte) {
      if (byte != '.' || draw(2)) all.insert(std::string(1, static_cast<char>(byte)));
    }
    for (std::uint32_t id = 0; const std::string& token : all) model.tokens.emplace_back(id++, token);
    model.drops_missing_bytes = false;
    check_supermerges(model, supermerges, draw_from(kPatterns), draw_text(60), 1 + static_cast<unsigned>(draw(3)), 1 + draw(60));
  }
}

void test_counting() {
  for (int i = 0; i < threaded_examples(1500); ++i) {
    check_phrases(draw_from(kPatterns), draw_text(80), 1 + static_cast<unsigned>(draw(3)), 1 + draw(60));
  }
}

void test_training() {
  for (int i = 0; i < threaded_examples(800); ++i) {
    WordMap phrases;
    for (std::size_t j = draw(6); j > 0; --j) {
      std::string phrase = draw_from(kWhole);
      for (std::size_t k = 1 + draw(10); k > 0; --k) phrase += "\xFF" + draw_from(kWhole);
      phrases[phrase] += 1 + draw(4);
    }
    TrainingOptions options;
    options.max_merges = draw(12);
    options.min_frequency = draw(3);
    options.span = std::uint64_t{1} << draw(6);
    options.sharing = {1 + static_cast<unsigned>(draw(2)), 1 + draw(10)};
    if (draw(3) == 0) options.words = {1 + draw(3), draw(2) == 1};
    const Merges merges(kMerges.begin(), kMerges.begin() + static_cast<std::ptrdiff_t>(draw(kMerges.size() + 1)));
    std::vector<std::string> tokens = kWhole;
    check_supertrainer(phrases, merges, draw_supermerges(tokens, 5), options);
  }
}

}  // namespace

int main() {
  test_runs();
  test_encoding();
  test_counting();
  test_training();
}
