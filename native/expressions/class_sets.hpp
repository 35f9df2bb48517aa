// Sets of classes: what the parts of split patterns match.
#pragma once

#include <bit>
#include <cstdint>
#include <initializer_list>

#include "text/unicode.hpp"

namespace hf_bpe {

using ClassSet = std::uint32_t;  // a bit for each class

constexpr ClassSet set_of(std::initializer_list<Class> classes) {
  ClassSet set = 0;
  for (const Class type : classes) set |= ClassSet{1} << static_cast<unsigned>(type);
  return set;
}

// A range is compared with its bounds, which is faster than to look up a bit.
template <ClassSet kSet>
constexpr bool is_in(Class type) {
  constexpr unsigned kFirst = kSet == 0 ? 0 : std::countr_zero(kSet);
  const unsigned number = static_cast<unsigned>(type);
  constexpr ClassSet kMoved = kSet >> kFirst;
  if constexpr ((kMoved & (kMoved + 1)) == 0) {
    return number - kFirst < static_cast<unsigned>(std::popcount(kSet));
  } else {
    return (kSet >> number & 1) != 0;
  }
}

inline constexpr ClassSet kNoClass = 0;
// [\p{Lu}\p{Lt}], \p{Ll}, [\p{Lm}\p{Lo}], \p{L}
inline constexpr ClassSet kUppers = set_of({Class::kUpper});
inline constexpr ClassSet kLowers = set_of({Class::kLower});
inline constexpr ClassSet kUncased = set_of({Class::kLetter, Class::kIdeograph, Class::kHanLetter, Class::kKanaLetter});
inline constexpr ClassSet kLetters = kUppers | kLowers | kUncased;
// \p{M}, \p{N}, [\p{P}\p{S}]
inline constexpr ClassSet kMarks = set_of({Class::kMark, Class::kHanMark, Class::kKanaMark});
inline constexpr ClassSet kNumbers = set_of({Class::kNumber, Class::kHanNumber});
inline constexpr ClassSet kSymbols = set_of({Class::kSymbol, Class::kHanSymbol, Class::kKanaSymbol});
// [\r\n], \s, and what is in none of the others
inline constexpr ClassSet kNewlines = set_of({Class::kNewline});
inline constexpr ClassSet kSpaces = set_of({Class::kSpace}) | kNewlines;
inline constexpr ClassSet kControls = set_of({Class::kOther, Class::kKanaOther});
// \p{Han}, and DeepSeek's [\u4E00-\u9FA5\u3040-\u30FF]
inline constexpr ClassSet kHan =
    set_of({Class::kIdeograph, Class::kHanLetter, Class::kHanMark, Class::kHanNumber, Class::kHanSymbol});
inline constexpr ClassSet kIdeographsAndKana =
    set_of({Class::kIdeograph, Class::kKanaLetter, Class::kKanaMark, Class::kKanaSymbol, Class::kKanaOther});

}  // namespace hf_bpe
