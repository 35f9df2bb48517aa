// Split patterns: the named ones of hf_bpe/pretokenizers/_named_patterns.py with what tells families apart, and others.
#pragma once

#include <memory>
#include <utility>

namespace hf_bpe {

class CharacterCuts;
struct Chain;

// A named pattern, a chain of compiled expressions, or the cuts of a model whose alphabet is characters.
class Pattern {
 public:
  // cl100k and llama3 split identically.
  enum Name {
    kNone,
    kGpt2,
    kGpt2Numbers,
    kGpt2Digits,
    kCl100k,
    kQwen2,
    kQwen35,
    kMiniCpm5,
    kO200k,
    kTekken,
    kKimiK2,
    kDeepSeekV3,
    kChain,
    kCharacters,
  };

  Pattern(Name name) : name_(name) {}
  explicit Pattern(std::shared_ptr<const Chain> chain) : name_(kChain), chain_(std::move(chain)) {}

  explicit Pattern(std::shared_ptr<const CharacterCuts> cuts) : name_(kCharacters), characters_(std::move(cuts)) {}

  operator Name() const { return name_; }
  const std::shared_ptr<const Chain>& chain() const { return chain_; }   // of kChain
  const CharacterCuts* characters() const { return characters_.get(); }  // of kCharacters

 private:
  Name name_;
  std::shared_ptr<const Chain> chain_;
  std::shared_ptr<const CharacterCuts> characters_;
};

// What a pre-token of numbers is in the family of gpt2: a match of ` ?\p{N}+`, or a piece that an earlier stage has cut
// out, a run of numbers or a single one.
enum class Digits { kMatched, kRun, kSingle };

// The family of o200k, where words are cut before upper case that follows lower case.
struct CasedWords {
  int numbers;        // how many make a pre-token at most
  bool slashes;       // they may close a run of other signs, as newlines may
  bool contractions;  // they belong to the word before them
  bool han;           // runs of \p{Han} come first, and words have none of it
};
inline constexpr CasedWords kO200kWords{3, true, true, false};
inline constexpr CasedWords kTekkenWords{1, true, false, false};
inline constexpr CasedWords kKimiK2Words{3, false, true, true};

}  // namespace hf_bpe
