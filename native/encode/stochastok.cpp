#include "encode/stochastok.hpp"

#include <stdexcept>

#include "merge/dropout.hpp"

namespace hf_bpe {

void apply_stochastok(const StochasticText& text, const TokenSplits& splits, std::uint64_t seed,
                      std::vector<std::uint32_t>& out, const PollFunction& poll) {
  constexpr std::uint64_t kMost = 0xFFFFFFFF, kStochastok = 0x73746F6368617374;
  if (text.size >= kMost || text.steps >= kMost - text.size) throw std::length_error("a text of 2**32 ids or more");
  struct Token {
    std::uint32_t id, next;
  };
  std::vector<Token> tokens;  // in the order in which they came to be
  tokens.reserve(text.size + text.steps);
  for (std::size_t i = 0; i < text.size; ++i) tokens.push_back({text.ids[i], static_cast<std::uint32_t>(i + 1)});
  const std::uint64_t key = mix(text_key(seed, text.number) ^ kStochastok);
  PollInLoop polls(poll);
  for (std::uint64_t step = 0; step < text.steps && !tokens.empty(); ++step) {
    polls();
    Token& chosen = tokens[mix(key + 2 * step * kRandomStep) % tokens.size()];
    if (chosen.id >= splits.ids) continue;
    const std::uint32_t begin = splits.begins[chosen.id], count = splits.begins[chosen.id + 1] - begin;
    if (count == 0) continue;
    const auto [first, second] = splits.pairs[begin + mix(key + (2 * step + 1) * kRandomStep) % count];
    const Token added{second, chosen.next};
    chosen = {first, static_cast<std::uint32_t>(tokens.size())};
    tokens.push_back(added);
  }
  std::uint32_t at = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    polls();
    out.push_back(tokens[at].id);
    at = tokens[at].next;
  }
}

}  // namespace hf_bpe
