// Finding tokens compared with a naive implementation on random input, and its work on worst-case input.
#include "added_tokens/token_finder.hpp"

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "examples.hpp"
#include "naive_tokens.hpp"
#include "random.hpp"

using namespace naive;

namespace {

std::string draw_string(const std::string& alphabet, std::size_t size) {
  std::string text;
  while (text.size() < size) text += alphabet[draw(alphabet.size())];
  return text;
}

void test_finder() {
  const std::vector<std::string> alphabets = {"a", "ab", std::string("\0\xFF<", 3), "<abc",
                                              "abcdefghijklmnopqrstuvwxyz"};
  for (int i = 0; i < examples(4000); ++i) {
    const std::string& alphabet = draw_from(alphabets);
    std::vector<std::size_t> sizes;  // decide how tokens are searched
    for (std::size_t j = 1 + draw(3); j > 0; --j) sizes.push_back(draw_from<std::size_t>({0, 1, 2, 3, 4, 5, 9, 30}));
    const std::string start = draw(4) == 0 ? "<" : "";  // so that all have a common beginning
    std::vector<std::string> tokens;
    for (std::size_t j = draw(draw(2) ? 4 : 80); j > 0; --j) {
      tokens.push_back(start + draw_string(alphabet, draw_from(sizes)));
    }
    std::string text;
    for (std::size_t j = draw(12); j > 0; --j) {
      text += tokens.empty() || draw(2) ? draw_string(alphabet, draw(8)) : draw_from(tokens);
      if (draw(3) == 0 && !text.empty()) text.pop_back();
    }
    check_finder(tokens, text);
  }
}

// Thousands of tokens in a longer text, by all kinds of filters.
void test_finder_of_many() {
  for (const std::size_t shortest : {1, 2, 3, 4, 7}) {
    std::vector<std::string> tokens;
    for (int i = 0; i < 4000; ++i) tokens.push_back(draw_string("abcdefghijklmnopqrstuvwxyz<[", shortest + draw(9)));
    const std::string text = draw_string("abcdefghijklmnopqrstuvwxyz<[ ABC\n", 2000) + draw_from(tokens);
    const Bytes bytes(text);
    const TokenFinder finder(tokens);
    TokenFinder::Search search(finder, bytes.begin(), bytes.end());
    const Byte* from = bytes.begin();
    for (std::size_t at = 0; at < text.size(); ++at) {
      const auto index = find_at(tokens, text, at);
      if (!index) continue;
      const TokenFinder::Found found = search.find(from);
      CHECK(found.begin == bytes.begin() + at && found.end == found.begin + tokens[*index].size());
      CHECK(found.index == *index);
      from = found.begin + 1;
    }
    CHECK(search.find(from).begin == bytes.end());
  }
}

void test_prefixes() {
  const TokenFinder finder({"a", "abc", "", "b", "abcd", "ab", "bb", "ab", "abd"});
  const auto prefix = [&](std::uint32_t index) { return finder.longest_prefix(index); };
  const auto none = TokenFinder::kNone;
  CHECK(prefix(0) == none && prefix(3) == none && prefix(6) == 3);
  CHECK(prefix(7) == 0 && prefix(1) == 7 && prefix(8) == 7 && prefix(4) == 1);  // of equal ones the last
}

std::string times(const std::string& text, std::size_t count) {
  std::string all;
  while (count-- > 0) all += text;
  return all;
}

// Sets of tokens with text for which an independent search at every position takes as long as the tokens.
struct Worst {
  std::vector<std::string> tokens;
  std::string text;
};

std::vector<Worst> worst() {
  constexpr std::size_t kText = 1 << 18;
  std::vector<Worst> all;
  const std::string as(kText, 'a');
  all.push_back({{std::string(20'000, 'a') + "b"}, as});
  all.push_back({{std::string(20'000, 'a')}, as + "b"});
  all.push_back({{"a", std::string(3000, 'a') + "b"}, as});  // one is found at every position
  all.push_back({{"ba", std::string(3000, 'a') + "b", "a"}, times(std::string(2999, 'a') + "b", kText / 3000)});
  all.push_back({{}, as});
  all.push_back({{}, times(std::string(999, 'a') + "b", kText / 1000)});
  for (std::size_t k = 1; k <= 1000; ++k) {
    for (std::size_t i = all.size() - 2; i < all.size(); ++i) all[i].tokens.push_back(std::string(k, 'a') + "b");
  }
  all.push_back({{}, as});  // nested
  for (std::size_t k = 1; k <= 500; ++k) all.back().tokens.push_back(std::string(k, 'a'));
  all.push_back({{times(" a", 5000)}, times(" a", kText / 2)});  // spans all cuts
  all.push_back({{times(" a", 5000) + "b", " "}, times(" a", kText / 2)});
  all.push_back({{times("ab", 5000) + "c", "ba", times("ba", 4000) + "a<"}, times("ab", kText / 2)});
  std::string fibonacci = "a", next = "ab";
  while (next.size() < kText) fibonacci = std::exchange(next, next + fibonacci);
  all.push_back({{fibonacci.substr(0, 10'000) + "c", fibonacci.substr(1, 6000) + "c", "ab"}, next});
  return all;
}

void test_work_is_linear_in_the_worst_cases() {
  for (const auto& [tokens, text] : worst()) {
    std::size_t bytes = text.size();
    for (const std::string& token : tokens) bytes += token.size();
    std::vector<AddedToken> added = plain_tokens(tokens);
    for (AddedToken& token : added) token.normalized = draw(2);
    const AddedTokens both(added);
    const TokenFinder finder(tokens);
    const Byte* const begin = begin_of(text);
    const Byte* const end = end_of(text);

    TokenFinder::Search every_place(finder, begin, end), from_token_to_token(finder, begin, end);
    for (const Byte* at = begin; at < end;) at = every_place.find(at).begin + 1;
    for (const Byte* at = begin; at < end;) at = from_token_to_token.find(at).end;
    AddedTokens::Walk walk(both, begin, begin + 1, end);
    for (const Byte* at = begin + 1; at < end; ++at) walk.allows_cut(at);
    const CutRules rules{Pattern::kGpt2, both};
    Cuts cuts({begin, end}, rules, begin + 1, end);
    while (cuts.next() != nullptr) continue;
    for (const std::size_t work : {every_place.work(), from_token_to_token.work(), walk.work() / 2, cuts.work() / 2}) {
      CHECK(work < 16 * bytes);
    }
  }
}

// Several threads may need the automaton first at the same time.
void test_threads_share_a_finder() {
  const std::string text(1 << 16, 'a');
  const TokenFinder finder({std::string(2000, 'a') + "b", "aab"});
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      TokenFinder::Search search(finder, begin_of(text), end_of(text));
      CHECK(search.find(begin_of(text)).begin == end_of(text));
      CHECK(search.work() < 16 * text.size());
    });
  }
}

}  // namespace

int main() {
  test_finder();
  test_finder_of_many();
  test_prefixes();
  test_work_is_linear_in_the_worst_cases();
  test_threads_share_a_finder();
}
