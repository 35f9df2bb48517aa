// The names of the split patterns, for those who know them by name.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "scan/pattern.hpp"

namespace hf_bpe {

// The named pattern of hf_bpe/pretokenizers/_named_patterns.py; none if the core has no scanner for it.
inline std::optional<Pattern::Name> pattern_named(std::string_view name) {
  static constexpr std::pair<std::string_view, Pattern::Name> kNamed[] = {
      {"gpt2", Pattern::kGpt2},
      {"gpt2-numbers", Pattern::kGpt2Numbers},
      {"gpt2-digits", Pattern::kGpt2Digits},
      {"cl100k", Pattern::kCl100k},
      {"llama3", Pattern::kCl100k},
      {"qwen2", Pattern::kQwen2},
      {"qwen3.5", Pattern::kQwen35},
      {"minicpm5", Pattern::kMiniCpm5},
      {"o200k", Pattern::kO200k},
      {"tekken", Pattern::kTekken},
      {"kimi-k2", Pattern::kKimiK2},
      {"deepseek-v3", Pattern::kDeepSeekV3},
  };
  for (const auto& [known, pattern] : kNamed) {
    if (name == known) return pattern;
  }
  return std::nullopt;
}

}  // namespace hf_bpe
