// deepseek-v3: a chain of three stages. The first cuts out numbers by threes, the second runs of ideographs and kana;
// the last expression is matched within these runs, and within the text between them.
#pragma once

#include "scan/pattern_parts.hpp"

namespace hf_bpe {

// The expression of the last stage, without white space, in pieces all of whose characters are in `kPiece`:
// [!-\/:-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|[\p{P}\p{S}]+[\r\n]*
// Controls, of no class that it names, match only where one precedes a word. Others are text between matches: a
// pre-token of as many as there are.
template <ClassSet kPiece>
const Byte* next_in_piece(const Byte* text, const Byte* end, Character first) {
  constexpr ClassSet kWord = (kLetters | kMarks) & kPiece;
  const Byte* rest = text + first.length;
  if (is_in<kWord>(first.type)) return skip<kWord>(rest, end);
  if (is_in<kSymbols>(first.type)) {
    const auto is_ascii_letter = [](Byte byte) { return (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z'; };
    if (*text < 0x80 && rest < end && is_ascii_letter(*rest)) {
      while (rest < end && is_ascii_letter(*rest)) ++rest;
      return rest;
    }
    rest = skip<kSymbols & kPiece>(rest, end);
    return is_in<kPiece>(Class::kNewline) ? skip<kNewlines>(rest, end) : rest;
  }
  for (const Byte* last = text; rest < end;) {  // where the last control begins
    const Character next = character_at(rest, end);
    if (is_in<kWord>(next.type)) return last == text ? skip<kWord>(rest, end) : last;
    if (!is_in<kControls & kPiece>(next.type)) break;
    last = rest;
    rest += next.length;
  }
  return rest;
}

inline const Byte* next_deepseek_v3(const Byte* text, const Byte* end) {
  constexpr ClassSet kEarlier = kNumbers | kIdeographsAndKana;
  const Character first = character_at(text, end);
  if (is_in<kNumbers>(first.type)) return skip_numbers(text + first.length, end, 3);
  if (is_in<kIdeographsAndKana>(first.type)) return next_in_piece<kIdeographsAndKana>(text, end, first);
  if (!is_in<kSpaces>(first.type)) return next_in_piece<~kEarlier>(text, end, first);
  if (const Byte* rest = text + first.length; rest < end && first.type != Class::kNewline) {
    constexpr ClassSet kWord = (kLetters | kMarks) & ~kEarlier;
    const Character next = character_at(rest, end);
    if (is_in<kWord>(next.type)) return skip<kWord>(rest, end);
    if (*text == ' ' && is_in<kSymbols & ~kEarlier>(next.type)) {
      return skip<kNewlines>(skip<kSymbols & ~kEarlier>(rest, end), end);
    }
  }
  return skip_spaces<kEarlier>(text, end, true);
}

}  // namespace hf_bpe
