// The random numbers of BPE-dropout, which depend on seed, text and place only. hf_bpe/reference/_dropout.py defines
// them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "text/unicode.hpp"

namespace hf_bpe {

inline constexpr std::uint64_t kRandomStep = 0x9E3779B97F4A7C15;

// The output function of SplitMix64 (Steele, Lea and Flood, 2014).
inline std::uint64_t mix(std::uint64_t number) {
  number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9;
  number = (number ^ number >> 27) * 0x94D049BB133111EB;
  return number ^ number >> 31;
}

// What the random numbers of a text are derived from.
inline std::uint64_t text_key(std::uint64_t seed, std::uint64_t number) {
  return mix(mix(seed + kRandomStep) + number * kRandomStep);
}

// The draws of the words of a text whose byte at `begin` has the given position.
struct TextDraws {
  const std::uint64_t* limits;
  std::uint64_t key;
  std::uint64_t position;
  const Byte* begin = nullptr;

  // The same, given another byte and its distance from the first one of the text.
  TextDraws at(const Byte* byte, std::ptrdiff_t distance) const {
    return {limits, key, position + static_cast<std::uint64_t>(distance), byte};
  }
};

// BPE-dropout of several texts.
struct Dropout {
  static constexpr std::size_t kLimits = 64;  // candidates that a random number decides on

  std::uint64_t seed;
  std::array<std::uint64_t, kLimits> limits;  // ⌊2⁶⁴ (1 - p)ᵏ⌋ for k from 1 on
  std::uint64_t first_text;                   // the number of the first text; the others follow
  // For each text its number and the position of its first byte; or none, for consecutive numbers and 0.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places;

  TextDraws of_text(std::size_t index) const {
    const auto [number, position] = places.empty() ? std::pair(first_text + index, std::uint64_t{0}) : places[index];
    return {limits.data(), text_key(seed, number), position};
  }
};

// The draws of a word: which of the candidates that follow one another are skipped.
class WordDraws {
 public:
  WordDraws(const TextDraws& text, const Byte* word)
      : limits_(text.limits),
        first_(mix(text.key + (text.position + static_cast<std::uint64_t>(word - text.begin)) * kRandomStep)) {}

  // Whether the first candidates, at most kLimits, are all kept.
  bool keeps(std::size_t count) const { return count == 0 || first_ < limits_[count - 1]; }

  // The number of candidates kept before the next one is skipped, by one of the random numbers; kLimits if that many
  // are kept and the next number decides.
  std::size_t gap(std::size_t number) const {
    const std::uint64_t random = number == 0 ? first_ : mix(first_ + number * kRandomStep);
    std::size_t gap = 0;
    while (gap < Dropout::kLimits && random < limits_[gap]) ++gap;
    return gap;
  }

 private:
  const std::uint64_t* limits_;
  std::uint64_t first_;
};

// Takes the draws of a word one by one.
class Skips {
 public:
  explicit Skips(const WordDraws& draws) : draws_(draws), gap_(draws.gap(0)) {}

  bool operator()() {
    while (kept_ == gap_) {
      const bool is_skip = gap_ < Dropout::kLimits;
      gap_ = draws_.gap(++number_);
      kept_ = 0;
      if (is_skip) return true;
    }
    ++kept_;
    return false;
  }

  std::size_t number() const { return number_; }  // of the current random number
  std::size_t kept() const { return kept_; }      // the candidates that it has kept so far

 private:
  const WordDraws& draws_;
  std::size_t number_ = 0, kept_ = 0, gap_;
};

}  // namespace hf_bpe
