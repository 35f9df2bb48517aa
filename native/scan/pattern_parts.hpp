// What several patterns have in common. Included, like the patterns themselves, by scanner.cpp only.
//
// Some pre-tokenizers are chains: each stage splits the pieces that the stage before it made. A chain is not an
// alternation, because a piece ends where an earlier stage has cut: there a later stage sees the end of its text. In
// all chains here the early stages take whole runs of some classes, so the functions have a set `kEnd` of those: a
// character of it is the end of the text for the expression that is matched.
#pragma once

#include "expressions/class_sets.hpp"

namespace hf_bpe {

// The end of a run of characters of a set.
template <ClassSet kMembers>
const Byte* skip(const Byte* text, const Byte* end) {
  while (text < end) {
    const Character character = character_at(text, end);
    if (!is_in<kMembers>(character.type)) break;
    text += character.length;
  }
  return text;
}

// \p{N}{1,limit}, after the first.
inline const Byte* skip_numbers(const Byte* text, const Byte* end, int limit) {
  for (int count = 1; count < limit && text < end; ++count) {
    const Character character = character_at(text, end);
    if (!is_in<kNumbers>(character.type)) break;
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

// \s+(?!\S)|\s+, where the first character is white space; with `until_newline` \s*[\r\n]+ before them.
template <ClassSet kEnd>
const Byte* skip_spaces(const Byte* text, const Byte* end, bool until_newline) {
  const Byte* last = text;  // where the last character begins
  const Byte* newlines = nullptr;
  const Byte* at = text;
  bool is_at_end = true;
  while (at < end) {
    const Character character = character_at(at, end);
    if (!is_in<kSpaces>(character.type)) {
      is_at_end = is_in<kEnd>(character.type);
      break;
    }
    last = at;
    at += character.length;
    if (character.type == Class::kNewline) newlines = at;
  }
  if (until_newline && newlines != nullptr) return newlines;
  return is_at_end || last == text ? at : last;
}

// The parts of a pattern like cl100k or o200k after its words.
struct Tail {
  ClassSet others;  // [^\s\p{L}\p{N}]
  int numbers;      // how many make a pre-token at most
  bool slashes;     // they may close a run of other signs, as newlines may
  ClassSet end;     // what an earlier stage takes
};

// \p{N}{1,numbers}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+, with [\r\n/]* for `slashes`.
template <Tail kTail>
const Byte* next_but_letters(const Byte* text, const Byte* end, Character first) {
  if (is_in<kNumbers>(first.type)) return skip_numbers(text + first.length, end, kTail.numbers);
  const Byte* start = text + (*text == ' ' && end - text > 1);
  if (is_in<kTail.others>(character_at(start, end).type)) {
    const Byte* rest = skip<kTail.others>(start, end);
    while (rest < end && (*rest == '\n' || *rest == '\r' || (kTail.slashes && *rest == '/'))) ++rest;
    return rest;
  }
  return skip_spaces<kTail.end>(text, end, true);
}

}  // namespace hf_bpe
