// Vocabularies whose alphabet is characters, as vocabularies of bytes: characters are made of their bytes by merges
// that come before all others. Why it is exact: in UTF-8 the bytes of a character belong to no other, and each but the
// first is a continuation byte, so the merges of a character's bytes join no bytes of two. They come first, so the
// merges of the model begin with the characters that the vocabulary has. What such merges make of other characters are
// their bytes or beginnings of characters, which are in no merge of the model; they become the tokens of the bytes in
// the end.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "merge/vocabulary.hpp"

namespace hf_bpe {

struct CharacterVocabulary {
  static constexpr std::uint32_t kNoByte = 0xFFFFFFFF;

  // `tokens` with their text in UTF-8, of which those in `excluded` are of no text; `merges`, as places in `tokens`;
  // the ids of the tokens of all bytes, kNoByte for those whose character is a token; or none.
  CharacterVocabulary(const Vocabulary::Tokens& tokens, const std::vector<Vocabulary::Merge>& merges,
                      const std::vector<std::uint32_t>& byte_ids, const std::vector<std::uint32_t>& excluded);

  Vocabulary vocabulary() const;
  std::vector<std::string_view> made() const;        // the tokens that the merges of the model make
  std::vector<std::string_view> characters() const;  // the tokens of one character

 private:
  Vocabulary::Tokens tokens_;
  std::vector<Vocabulary::Merge> merges_;
  std::size_t merges_of_bytes_ = 0;
  std::vector<std::uint32_t> characters_;  // places of tokens
  std::uint32_t first_part_id_;
  std::deque<std::string> parts_;  // bytes and beginnings of characters
};

}  // namespace hf_bpe
