#include "scan/scanner.hpp"

#include "expressions/chain.hpp"
#include "scan/characters.hpp"
#include "scan/pattern_cl100k.hpp"
#include "scan/pattern_deepseek.hpp"
#include "scan/pattern_gpt2.hpp"
#include "scan/pattern_o200k.hpp"
#include "scan/windows.hpp"

namespace hf_bpe {
namespace {

// Whether a white-space character ends at `at`, after a byte from 0x80 on.
bool ends_with_space(const Byte* begin, const Byte* at) {
  const Byte* start = at - 1;
  while (start > begin && at - start < 4 && is_continuation(*start)) --start;
  const Character character = character_at(start, at);
  return is_in<kSpaces>(character.type) && start + character.length == at;
}

std::size_t scan_scalar(Pattern::Name pattern, const Byte* text, const Byte* end, const Byte** ends,
                        std::size_t capacity) {
  std::size_t count = 0;
  while (count < capacity && text < end) ends[count++] = text = next_pre_token(pattern, text, end);
  return count;
}

}  // namespace

const Byte* next_pre_token(Pattern::Name pattern, const Byte* text, const Byte* end) {
  switch (pattern) {
    case Pattern::kNone:
    case Pattern::kChain:
    case Pattern::kCharacters:
      return end;  // these have splitters of their own
    case Pattern::kGpt2:
      return next_gpt2<Digits::kMatched>(text, end);
    case Pattern::kGpt2Numbers:
      return next_gpt2<Digits::kRun>(text, end);
    case Pattern::kGpt2Digits:
      return next_gpt2<Digits::kSingle>(text, end);
    case Pattern::kCl100k:
      return next_cl100k<3>(text, end);
    case Pattern::kQwen2:
      return next_cl100k<1>(text, end);
    case Pattern::kQwen35:
      return next_cl100k<1, true>(text, end);
    case Pattern::kMiniCpm5:
      return next_cl100k<3, false, true>(text, end);
    case Pattern::kO200k:
      return next_o200k<kO200kWords>(text, end);
    case Pattern::kTekken:
      return next_o200k<kTekkenWords>(text, end);
    case Pattern::kKimiK2:
      return next_o200k<kKimiK2Words>(text, end);
    case Pattern::kDeepSeekV3:
      return next_deepseek_v3(text, end);
  }
  return end;
}

Scanner::Scanner(Pattern::Name pattern, Simd simd) : pattern_(pattern), scan_(scan_scalar) {
  if (pattern == Pattern::kNone) return;
#if defined(HF_BPE_X86)
  if (simd == Simd::kAvx2) scan_ = scan_avx2;
#elif defined(HF_BPE_NEON)
  if (simd == Simd::kNeon) scan_ = scan_neon;
#endif
}

const Byte* find_safe_cut(const Pattern& pattern, const Byte* begin, const Byte* from, const Byte* end) {
  if (pattern == Pattern::kChain) return find_safe_cut(*pattern.chain(), begin, from, end);
  if (pattern == Pattern::kCharacters) return pattern.characters()->find_cut(begin, from, end, end);
  if (pattern == Pattern::kNone) return end;
  // No named pattern looks back, and none has a pre-token with a space after a non-white-space character, or with white
  // space after a letter or a number. The second rule is only checked for ASCII, which is enough.
  for (const Byte* at = from > begin ? from : begin + 1; at < end; ++at) {
    if (*at > ' ' || !is_in<kSpaces>(character_at(at, end).type)) continue;
    if (at[-1] >= 0x80) {
      if (*at == ' ' && !ends_with_space(begin, at)) return at;
      continue;
    }
    const Class before = character_at(at - 1, at).type;
    if (is_in<kLetters | kNumbers>(before) || (*at == ' ' && !is_in<kSpaces>(before))) return at;
  }
  return end;
}

}  // namespace hf_bpe
