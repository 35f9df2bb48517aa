#include "text/scanner.hpp"

#include "text/windows.hpp"

namespace hf_bpe {
namespace {

bool is_letter(Class type) { return type == Class::kUpper || type == Class::kLower || type == Class::kLetter; }
bool is_space(Class type) { return type == Class::kSpace || type == Class::kNewline; }
bool is_other(Class type) { return type == Class::kOther || type == Class::kMark; }  // [^\s\p{L}\p{N}]

// The end of a run of characters of the given classes.
template <class Predicate>
const Byte* skip(const Byte* text, const Byte* end, Predicate is_member) {
  while (text < end) {
    const Character character = character_at(text, end);
    if (!is_member(character.type)) break;
    text += character.length;
  }
  return text;
}

// \p{N}{1,limit}, after the first.
const Byte* skip_numbers(const Byte* text, const Byte* end, int limit) {
  for (int count = 1; count < limit && text < end; ++count) {
    const Character character = character_at(text, end);
    if (character.type != Class::kNumber) break;
    text += character.length;
  }
  return text;
}

// '(?:[sdmt]|ll|ve|re), or with (?i:…); `text` itself if it is not a contraction.
template <bool kIgnoreCase>
const Byte* skip_contraction(const Byte* text, const Byte* end) {
  if (*text != '\'' || end - text < 2) return text;
  const auto letter = [](Byte byte) -> Byte { return kIgnoreCase && byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte; };
  const Byte first = letter(text[1]);
  if (first == 's' || first == 'd' || first == 'm' || first == 't') return text + 2;
  if (end - text < 3) return text;
  const Byte second = letter(text[2]);
  if ((first == 'l' && second == 'l') || ((first == 'v' || first == 'r') && second == 'e')) return text + 3;
  // U+017F, the long s, is an s whose case is ignored.
  if (kIgnoreCase && text[1] == 0xC5 && text[2] == 0xBF) return text + 3;
  return text;
}

// \s+(?!\S)|\s+, where the first character is white space.
const Byte* skip_spaces(const Byte* text, const Byte* end, bool until_newline) {
  const Byte* last = text;  // where the last character begins
  const Byte* newlines = nullptr;
  const Byte* at = text;
  while (at < end) {
    const Character character = character_at(at, end);
    if (!is_space(character.type)) break;
    last = at;
    at += character.length;
    if (character.type == Class::kNewline) newlines = at;
  }
  if (until_newline && newlines != nullptr) return newlines;  // \s*[\r\n]+
  return at == end || last == text ? at : last;
}

// '(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
const Byte* next_gpt2(const Byte* text, const Byte* end) {
  const Byte* contraction = skip_contraction<false>(text, end);
  if (contraction != text) return contraction;
  const Byte* start = text + (*text == ' ' && end - text > 1);
  const Character character = character_at(start, end);
  const Byte* rest = start + character.length;
  if (is_letter(character.type)) return skip(rest, end, is_letter);
  if (character.type == Class::kNumber) return skip(rest, end, [](Class type) { return type == Class::kNumber; });
  if (is_other(character.type)) return skip(rest, end, is_other);
  return skip_spaces(text, end, false);
}

// The alternatives that cl100k, llama3, qwen2 and o200k share:
// \p{N}{1,limit}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+, with [\r\n/]* for o200k.
const Byte* next_but_letters(const Byte* text, const Byte* end, Class type, int numbers, bool slashes) {
  if (type == Class::kNumber) return skip_numbers(text + character_at(text, end).length, end, numbers);
  const Byte* start = text + (*text == ' ' && end - text > 1);
  if (is_other(character_at(start, end).type)) {
    const Byte* rest = skip(start, end, is_other);
    while (rest < end && (*rest == '\n' || *rest == '\r' || (slashes && *rest == '/'))) ++rest;
    return rest;
  }
  return skip_spaces(text, end, true);
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+, and what next_but_letters holds.
const Byte* next_cl100k(const Byte* text, const Byte* end, int numbers) {
  const Byte* contraction = skip_contraction<true>(text, end);
  if (contraction != text) return contraction;
  const Character first = character_at(text, end);
  if (is_letter(first.type)) return skip(text + first.length, end, is_letter);
  if (first.type != Class::kNumber && first.type != Class::kNewline) {
    const Byte* letters = text + first.length;
    const Byte* rest = skip(letters, end, is_letter);
    if (rest != letters) return rest;
  }
  return next_but_letters(text, end, first.type, numbers, false);
}

// [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+, `text` itself if it doesn't match.
const Byte* skip_cased_word(const Byte* text, const Byte* end) {
  const Byte* both = text;  // the end of the last character that is in the second class as well as in the first
  const Byte* at = text;
  while (at < end) {
    const Character character = character_at(at, end);
    if (character.type == Class::kLower) {
      return skip(at, end, [](Class type) {
        return type == Class::kLower || type == Class::kLetter || type == Class::kMark;
      });
    }
    if (character.type != Class::kUpper && character.type != Class::kLetter && character.type != Class::kMark) break;
    at += character.length;
    if (character.type != Class::kUpper) both = at;
  }
  return both;  // the first class gave back what follows it
}

// PATTERNS["o200k"]: the two alternatives of words with case, and what next_but_letters holds.
const Byte* next_o200k(const Byte* text, const Byte* end) {
  const Character first = character_at(text, end);
  const bool prefix = first.type != Class::kNumber && first.type != Class::kNewline && !is_letter(first.type);
  const Byte* word = text + (prefix ? first.length : 0);
  const Byte* rest = skip_cased_word(word, end);
  if (rest == word && first.type == Class::kMark) rest = skip_cased_word(word = text, end);
  if (rest == word) {  // the second alternative: only upper case is left, or it would have been the first
    word = text + (prefix ? first.length : 0);
    rest = skip(word, end, [](Class type) { return type == Class::kUpper; });
  }
  if (rest == word) return next_but_letters(text, end, first.type, 3, true);
  return rest < end ? skip_contraction<true>(rest, end) : rest;
}

// Whether a white-space character ends at `at`, after a byte from 0x80 on.
bool ends_with_space(const Byte* begin, const Byte* at) {
  const Byte* start = at - 1;
  while (start > begin && at - start < 4 && is_continuation(*start)) --start;
  const Character character = character_at(start, at);
  return is_space(character.type) && start + character.length == at;
}

std::size_t scan_scalar(Pattern pattern, const Byte* text, const Byte* end, const Byte** ends, std::size_t capacity) {
  std::size_t count = 0;
  while (count < capacity && text < end) ends[count++] = text = next_pre_token(pattern, text, end);
  return count;
}

}  // namespace

const Byte* next_pre_token(Pattern pattern, const Byte* text, const Byte* end) {
  switch (pattern) {
    case Pattern::kNone: return end;
    case Pattern::kGpt2: return next_gpt2(text, end);
    case Pattern::kCl100k: return next_cl100k(text, end, 3);
    case Pattern::kQwen2: return next_cl100k(text, end, 1);
    case Pattern::kO200k: return next_o200k(text, end);
  }
  return end;
}

Simd widest_simd() {
#if defined(HF_BPE_X86)
  if (__builtin_cpu_supports("avx2")) return Simd::kAvx2;
#elif defined(HF_BPE_NEON)
  return Simd::kNeon;
#endif
  return Simd::kScalar;
}

Scanner::Scanner(Pattern pattern, Simd simd) : pattern_(pattern), scan_(scan_scalar) {
  if (pattern == Pattern::kNone) return;
#if defined(HF_BPE_X86)
  if (simd == Simd::kAvx2) scan_ = scan_avx2;
#elif defined(HF_BPE_NEON)
  if (simd == Simd::kNeon) scan_ = scan_neon;
#endif
}

const Byte* find_safe_cut(Pattern pattern, const Byte* begin, const Byte* from, const Byte* end) {
  if (pattern == Pattern::kNone) return end;
  // No named pattern looks back, and none has a pre-token with a space after a non-white-space character, or with white
  // space after a letter or a number. The second rule is only checked for ASCII, which is enough.
  for (const Byte* at = from > begin ? from : begin + 1; at < end; ++at) {
    if (*at > ' ' || !is_space(character_at(at, end).type)) continue;
    if (at[-1] >= 0x80) {
      if (*at == ' ' && !ends_with_space(begin, at)) return at;
      continue;
    }
    const Class before = character_at(at - 1, at).type;
    if (is_letter(before) || before == Class::kNumber || (*at == ' ' && !is_space(before))) return at;
  }
  return end;
}

}  // namespace hf_bpe
