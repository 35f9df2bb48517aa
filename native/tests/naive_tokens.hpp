// Slow reference implementations of finding tokens, for the tests and fuzzers of the core.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "added_tokens/cuts.hpp"
#include "naive.hpp"

namespace naive {

// Bytes at the ends of an allocation, so that a sanitizer detects reads beyond them.
struct Bytes {
  explicit Bytes(const std::string& text) : copy(text.begin(), text.end()) {}
  const Byte* begin() const { return reinterpret_cast<const Byte*>(copy.data()); }
  const Byte* end() const { return begin() + copy.size(); }
  std::vector<char> copy;
};

// The index of the longest token that begins at `at`, of equal ones the last.
inline std::optional<std::size_t> find_at(const std::vector<std::string>& tokens, const std::string& text,
                                          std::size_t at) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].empty() || text.compare(at, tokens[i].size(), tokens[i]) != 0) continue;
    if (!best || tokens[i].size() >= tokens[*best].size()) best = i;
  }
  return best;
}

// The trie, the automaton, and a switch between them, with walks over every position or from token to token.
inline void check_finder(const std::vector<std::string>& tokens, const std::string& text) {
  const Bytes bytes(text);
  const Byte* const begin = bytes.begin();
  std::vector<std::optional<std::size_t>> tokens_at;
  for (std::size_t at = 0; at < text.size(); ++at) tokens_at.push_back(find_at(tokens, text, at));

  const auto check = [&](const TokenFinder::Found& found, std::size_t at, std::size_t limit) {
    while (at < limit && !tokens_at[at]) ++at;
    CHECK(found.begin == begin + at);
    if (at == limit) {
      CHECK(found.end == found.begin && found.index == TokenFinder::kNone);
    } else {
      CHECK(found.index == *tokens_at[at] && found.end == found.begin + tokens[found.index].size());
    }
  };
  for (const std::size_t patience : {std::size_t{0}, std::size_t{8}, TokenFinder::kPatience}) {
    const TokenFinder finder(tokens, patience);
    std::size_t longest = 0;
    for (const std::string& token : tokens) longest = std::max(longest, token.size());
    CHECK(finder.longest() == longest);
    for (const std::size_t limit : {text.size(), text.size() / 2}) {
      TokenFinder::Search every_place(finder, begin, bytes.end()), from_token_to_token(finder, begin, bytes.end());
      for (std::size_t at = 0; at <= limit; ++at) {
        check(every_place.find(begin + at, begin + limit), at, limit);
        check(TokenFinder::Search(finder, begin + at, bytes.end()).find(begin + at, begin + limit), at, limit);
      }
      for (std::size_t at = 0; at < limit;) {
        const TokenFinder::Found found = from_token_to_token.find(begin + at, begin + limit);
        check(found, at, limit);
        at = static_cast<std::size_t>(found.end - begin);
      }
    }
  }

  std::vector<TokenAutomaton::Match> matches;
  const std::size_t from = text.size() / 4, to = text.size() / 2;
  TokenAutomaton(tokens).find_all(begin + from, begin + to, bytes.end(), matches);
  for (std::size_t at = from; at < to; ++at) {
    if (!tokens_at[at]) continue;
    CHECK(!matches.empty() && matches.back().begin == begin + at && matches.back().index == *tokens_at[at]);
    matches.pop_back();
  }
  CHECK(matches.empty());
}

// Whether a token forbids a cut: a token that spans it, or checks characters across it.
inline bool forbids_cut(const std::vector<AddedToken>& tokens, const std::string& text, std::size_t at) {
  for (const AddedToken& given : tokens) {
    AddedToken token = given;
    for (const AddedToken& each : tokens) {
      if (each.content == token.content) token = each;
    }
    const std::size_t size = token.content.size();
    for (std::size_t from = at - std::min(at, size); size != 0 && from <= at; ++from) {
      if (text.compare(from, size, token.content) != 0) continue;
      const bool eats = (from + size == at && token.rstrip) || (from == at && token.lstrip);
      if ((from < at && at < from + size) || token.single_word || eats) return true;
    }
  }
  return false;
}

// All safe cuts of the text, and the last one.
inline void check_cuts(const std::vector<AddedToken>& given, const std::string& text, Pattern pattern,
                       bool split_special_tokens, bool add_prefix_space) {
  const AddedTokens tokens(given, text.size() % 2 == 0 ? 0 : TokenFinder::kPatience);
  const CutRules rules{pattern, tokens, {split_special_tokens, add_prefix_space}};
  const Bytes bytes(text);
  const Text whole{bytes.begin(), bytes.end()};
  std::vector<std::string> first_round;
  for (const bool normalized : {false, true}) {
    if (!first_round.empty() || split_special_tokens) continue;
    for (const AddedToken& token : given) {
      if (token.normalized == normalized && !token.content.empty()) first_round.push_back(token.content);
    }
  }
  std::vector<std::size_t> expected;
  for (std::size_t at = 1; at < text.size(); ++at) {
    const Byte* const place = bytes.begin() + at;
    const bool is_token = find_at(first_round, text, at).has_value();
    const bool is_safe = find_safe_cut(pattern, bytes.begin(), place, bytes.end()) == place;
    if (!(is_token || is_safe) || (add_prefix_space && !is_token && text[at] != ' ')) continue;
    if (!forbids_cut(given, text, at)) expected.push_back(at);
  }
  const std::size_t middle = text.size() / 2 + 1;
  for (const auto& [from, limit] :
       {std::pair(std::size_t{1}, text.size()), std::pair(middle, text.size()), std::pair(std::size_t{1}, middle)}) {
    if (from > text.size() || limit > text.size()) continue;
    Cuts cuts(whole, rules, bytes.begin() + from, bytes.begin() + limit);
    for (const std::size_t cut : expected) {
      if (from <= cut && cut < limit) CHECK(cuts.next() == bytes.begin() + cut);
    }
    CHECK(cuts.next() == nullptr);
  }
  std::size_t last = 0;
  for (const std::size_t cut : expected) {
    if (cut + std::max<std::size_t>(tokens.longest(), 4) < text.size()) last = cut;
  }
  CHECK(find_last_cut(whole, rules) == last);
}

}  // namespace naive
