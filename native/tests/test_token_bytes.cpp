// The bytes of tokens joined, and the longest prefixes of one vocabulary in another, compared with a search.
#include "encode/token_bytes.hpp"

#include <stdexcept>

#include "examples.hpp"
#include "naive.hpp"
#include "random.hpp"

using namespace naive;

namespace {

struct Tokens {
  std::string data;
  std::vector<std::int64_t> offsets = {0};

  void add(const std::string& token) {
    data += token;
    offsets.push_back(static_cast<std::int64_t>(data.size()));
  }
  TokenBytes view() const { return {data, offsets.data(), offsets.size() - 1}; }
};

// Few letters, so that many tokens begin with others; lengths around the 8 bytes that are compared at once.
std::string random_token() {
  std::string token;
  for (std::size_t size = draw(draw(4) == 0 ? 20 : 4); size > 0; --size)
    token += "ab\0\xFF"[draw(draw(3) == 0 ? 4 : 1)];
  return token;
}

Tokens random_tokens() {
  Tokens tokens;
  for (std::size_t size = draw(40); size > 0; --size) tokens.add(random_token());
  return tokens;
}

void test_longest_prefixes_are_those_of_a_search() {
  for (int i = 0; i < examples(3000); ++i) {
    const Tokens tokens = random_tokens(), others = random_tokens();
    const std::size_t size = others.view().size();
    std::vector<std::uint32_t> candidates;
    for (std::size_t n = size == 0 ? 0 : draw(2 * size); n > 0; --n)
      candidates.push_back(static_cast<std::uint32_t>(draw(size)));
    const auto found = longest_prefixes(tokens.view(), others.view(), candidates, kNoPoll);
    CHECK(found.size() == tokens.view().size());
    for (std::size_t id = 0; id < found.size(); ++id) {
      std::int64_t expected = -1;
      for (const std::uint32_t candidate : candidates) {
        const std::string_view token = others.view()[candidate];
        const bool is_longer = expected < 0 || token.size() > others.view()[static_cast<std::size_t>(expected)].size();
        if (!token.empty() && tokens.view()[id].starts_with(token) && is_longer) expected = candidate;
      }
      CHECK(found[id] == expected);
    }
  }
}

void test_ids_are_joined_in_their_order() {
  for (int i = 0; i < examples(1000); ++i) {
    Tokens tokens = random_tokens();
    tokens.add("x");
    std::vector<std::uint32_t> ids;
    std::string expected;
    for (std::size_t size = draw(30); size > 0; --size) {
      ids.push_back(static_cast<std::uint32_t>(draw(tokens.view().size())));
      expected += tokens.view()[ids.back()];
    }
    CHECK(tokens.view().join(ids, kNoPoll) == expected);
  }
}

void test_wrong_offsets_and_ids_are_refused() {
  const std::vector<std::vector<std::int64_t>> wrong = {{0, 3}, {-1, 1}, {1, 0}, {0, 2}};
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    const TokenBytes tokens("ab", wrong[i].data(), 1);
    bool is_refused = false;
    try {
      tokens.join({i == 3 ? 1u : 0u}, kNoPoll);
    } catch (const std::invalid_argument&) {
      is_refused = true;
    }
    CHECK(is_refused);
  }
}

}  // namespace

int main() {
  test_longest_prefixes_are_those_of_a_search();
  test_ids_are_joined_in_their_order();
  test_wrong_offsets_and_ids_are_refused();
}
