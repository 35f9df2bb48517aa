#include "train/characters.hpp"

#include <limits>
#include <stdexcept>
#include <unordered_set>

#include "text/unicode.hpp"

namespace hf_bpe {
namespace {

constexpr std::uint32_t kCodes = 0x110000, kInvalid = kCodes;

struct Decoded {
  std::uint32_t code;
  unsigned length;  // in bytes
};

inline Decoded decode(const Byte* text, const Byte* end) {
  if (*text < 0x80) return {*text, 1};
  return decode_non_ascii(
      text, end, [](std::uint32_t code, unsigned length) -> Decoded { return {code, length}; }, Decoded{kInvalid, 1});
}

std::string utf8(std::uint32_t code) {
  const auto tail = [code](unsigned shift) { return static_cast<char>(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | code >> 6), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xE0 | code >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | code >> 18), tail(12), tail(6), tail(0)};
}

}  // namespace

FirstTokens::Merges TrainingAlphabet::merges_of_bytes() const {
  FirstTokens::Merges merges;
  std::unordered_set<std::string> made;  // beginnings of characters, which several have
  for (const std::uint32_t code : characters) {
    const std::string character = utf8(code);
    for (std::size_t length = 1; length < character.size(); ++length) {
      if (!made.insert(character.substr(0, length + 1)).second) continue;
      merges.emplace_back(character.substr(0, length), character.substr(length, 1));
    }
  }
  return merges;
}

CharacterRuns::CharacterRuns(const Words& words, const TrainingAlphabet& alphabet)
    : words_(words), drops_others_(alphabet.drops_others), is_known_(kCodes + 1) {
  for (const std::uint32_t code : alphabet.characters) is_known_.at(code) = true;
}

void CharacterRuns::for_each(const Visit& visit) const {
  std::string kept;
  words_.for_each([&](const Byte* word, std::size_t length, std::uint64_t count) {
    const Byte* const end = word + length;
    const Byte* begin = word;  // of the known characters before `at`
    kept.clear();
    const auto finish = [&](const Byte* at) {
      if (drops_others_) {
        kept.append(begin, at);
      } else if (begin != at) {
        visit(begin, static_cast<std::size_t>(at - begin), count);
      }
    };
    for (const Byte* at = word; at < end;) {
      const Decoded character = decode(at, end);
      if (!is_known_[character.code]) {
        finish(at);
        begin = at + character.length;
      }
      at += character.length;
    }
    finish(end);
    if (!kept.empty()) visit(reinterpret_cast<const Byte*>(kept.data()), kept.size(), count);
  });
}

std::map<std::uint32_t, std::uint64_t> count_characters(const Words& words, const PollFunction& poll) {
  std::vector<std::uint64_t> counts(kCodes + 1);
  PollInLoop polls(poll);
  words.for_each([&](const Byte* word, std::size_t length, std::uint64_t count) {
    polls(length);
    const Byte* const end = word + length;
    for (const Byte* at = word; at < end;) {
      const Decoded character = decode(at, end);
      std::uint64_t& sum = counts[character.code];
      if (count > std::numeric_limits<std::uint64_t>::max() - sum) {
        throw std::overflow_error("a character was counted more than 2**64 - 1 times; divide the counts");
      }
      sum += count;
      at += character.length;
    }
  });
  std::map<std::uint32_t, std::uint64_t> counted;
  for (std::uint32_t code = 0; code < kCodes; ++code) {
    if (counts[code] != 0) counted.emplace(code, counts[code]);
  }
  return counted;
}

}  // namespace hf_bpe
