// Compiled split expressions, from the programs of hf_bpe/pretokenizers/_regex/program.py.
// A program's sets of characters are replaced by classes: characters that all sets of an expression treat alike.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "text/unicode.hpp"

namespace hf_bpe {

// As the Python module numbers and explains them.
enum class Opcode : std::uint32_t { kAccept, kCharacter, kSplit, kCheck, kLook, kAtomic };

struct Instruction {
  Opcode opcode;
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
};

// A set of characters, and whether it has the edge of the text, too.
struct CharacterTest {
  std::vector<CodeRange> ranges;  // sorted and apart from each other
  bool has_edge = false;
};

struct Program {
  std::vector<Instruction> instructions;
  std::vector<CharacterTest> tests;
  std::uint32_t start = 0;
};

// A character's class in an expression, and its length in bytes.
struct TypedCharacter {
  unsigned type;
  unsigned length;
};

// The classes of characters. A byte outside of valid UTF-8 is a character: U+DC80 to U+DCFF, as Python decodes it.
class Alphabet {
 public:
  // With `is_mapped` each byte is a character: the printable one that ByteLevel writes for it.
  Alphabet(const std::vector<CharacterTest>& tests, bool is_mapped);

  unsigned classes() const { return classes_; }
  // The class of no character: the edge of the text.
  unsigned edge() const { return classes_; }

  // The character at `text`; `text < end`.
  TypedCharacter at(const Byte* text, const Byte* end) const {
    if (const std::uint16_t type = of_byte_[*text]; type != kSeveralBytes) return {type, 1};
    return decode_non_ascii(
        text, end, [&](std::uint32_t code, unsigned length) -> TypedCharacter { return {of(code), length}; },
        TypedCharacter{invalid_, 1});
  }

  // Whether a byte is a character by itself, wherever it stands.
  bool is_character(Byte byte) const { return of_byte_[byte] != kSeveralBytes; }

  // The length of the character before `at`; `begin < at`.
  unsigned length_before(const Byte* begin, const Byte* at) const;
  // The class of the character before `at`; the edge at the beginning of the text.
  unsigned before(const Byte* begin, const Byte* at) const {
    return at == begin ? edge() : this->at(at - length_before(begin, at), at).type;
  }

  // Whether the characters of a class, or the edge, are in a set.
  bool is_in(std::uint32_t test, unsigned type) const { return members_[test * (classes_ + 1) + type]; }

 private:
  static constexpr std::uint16_t kSeveralBytes = 0xFFFF;
  static constexpr unsigned kBlock = 128;

  unsigned of(std::uint32_t code) const { return blocks_[block_of_[code / kBlock]][code % kBlock]; }

  unsigned classes_ = 0;
  std::vector<bool> members_;  // by test and class
  std::array<std::uint16_t, 256> of_byte_;
  std::uint16_t invalid_ = 0;
  std::vector<std::uint16_t> block_of_;
  std::vector<std::array<std::uint16_t, kBlock>> blocks_;
};

// Immutable, so threads may share it.
class Expression {
 public:
  // Throws std::invalid_argument if the program is malformed.
  Expression(Program program, bool is_mapped);

  const Alphabet& alphabet() const { return alphabet_; }
  const std::vector<Instruction>& code() const { return program_.instructions; }
  std::uint32_t start() const { return program_.start; }
  // Whether there is no LOOK or ATOMIC.
  bool is_regular() const { return is_regular_; }
  // Whether a match may depend on the character before it.
  bool looks_back() const { return looks_back_; }
  // Whether a match may begin before a character of a class, or at the edge.
  bool may_begin(unsigned type) const { return may_begin_[type]; }
  // Whether a match may end with a character of a class; true for all classes if it may be empty.
  bool may_end(unsigned type) const { return may_end_[type]; }
  // The first position from `at` on before whose character a match may begin; `end` if there is none.
  const Byte* skip(const Byte* at, const Byte* end) const {
    for (; at < end; ++at) {
      if (is_passed_[*at]) continue;
      const TypedCharacter character = alphabet_.at(at, end);
      if (may_begin_[character.type]) break;
      at += character.length - 1;
    }
    return at;
  }

 private:
  void check() const;
  std::vector<bool> first_classes() const;
  std::vector<bool> last_classes() const;

  Program program_;
  Alphabet alphabet_;
  bool is_regular_ = true, looks_back_ = false;
  std::vector<bool> may_begin_, may_end_;
  std::array<bool, 256> is_passed_;  // whether a byte is a character before which no match may begin
};

}  // namespace hf_bpe
