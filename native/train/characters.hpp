// Training on characters instead of bytes. The engine stays one of bytes: merges that make each character of the
// alphabet of its bytes come before all others, and words are cut at other characters, so no other bytes are left.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "count/words.hpp"
#include "merge/first_tokens.hpp"
#include "support/poll.hpp"

namespace hf_bpe {

// TrainingAlphabet of hf_bpe/reference/_training_alphabet.py, except for its reserved tokens.
struct TrainingAlphabet {
  bool is_bytes = true;                   // the alphabet is all bytes
  std::vector<std::uint32_t> characters;  // else code points, in ascending order
  bool drops_others = false;              // other characters are left out; else no pair crosses them

  // The merges that make the characters of their bytes.
  FirstTokens::Merges merges_of_bytes() const;
};

// Words without the characters that are not in an alphabet: what is left of a word, or what is between these.
class CharacterRuns : public Words {
 public:
  // `words` must outlive it.
  CharacterRuns(const Words& words, const TrainingAlphabet& alphabet);
  void for_each(const Visit& visit) const override;

 private:
  const Words& words_;
  const bool drops_others_;
  std::vector<bool> is_known_;  // by code point
};

// How often each character occurs, by code point; invalid UTF-8 does not count. Throws std::overflow_error if that
// exceeds 64 bits.
std::map<std::uint32_t, std::uint64_t> count_characters(const Words& words, const PollFunction& poll);

}  // namespace hf_bpe
