// Merges in files: two tokens each, as lines of merges.txt or in the JSON of tokenizer.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "merge/vocabulary.hpp"
#include "tables/word_table.hpp"

namespace hf_bpe {

// How a file writes tokens: each byte as a printable character, or as text.
enum class TokenForm { kPrintable, kText };

struct MergesFile {
  std::vector<Vocabulary::Merge> merges;  // numbers of tokens
  std::vector<char> is_used;              // by token: 1 if a merge has or makes it
};

// Finds the tokens of merges, several at a time, to hide waits for memory. Each method returns false for what is
// irregular; then the caller reports the error.
class MergesReader {
 public:
  // The tokens must outlive it; an empty one is never found. At most `most` merges follow, written in a form.
  MergesReader(const std::vector<std::string_view>& tokens, std::size_t most, TokenForm form = TokenForm::kPrintable);

  // Whether there are few enough tokens and merges.
  static bool fits(std::size_t tokens, std::size_t merges);

  // A merge of two tokens, which must be new, and must make a token.
  bool add(std::string_view first, std::string_view second);
  // As above, for "first second", with a single space.
  bool add(std::string_view line);

  // Finds the last tokens. Returns false if two tokens are the same, too.
  bool finish();
  // All merges, at the end.
  MergesFile take() { return std::move(file_); }

 private:
  using Numbers = WordTable<std::uint32_t, 1>;
  struct Pending {
    std::size_t first_size, size;
    Numbers::Key keys[2];
    std::size_t slots[2];
    Vocabulary::Merge merge;
  };
  static constexpr std::size_t kBatch = 32;
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  bool append(std::string_view written);
  std::uint32_t find(Numbers::Key key, std::size_t slot, std::string_view token) const;
  std::uint32_t find_result(std::string_view made, std::uint32_t last) const;

  const std::vector<std::string_view>& tokens_;
  const std::size_t most_;
  const TokenForm form_;
  Numbers numbers_;
  bool are_distinct_ = true;
  MergesFile file_;
  std::vector<std::uint32_t> last_, before_;  // the last merge that makes each token, and the one before each merge
  std::vector<Pending> pending_;
  std::string made_;  // the bytes of all pending merges
};

// Reads the lines of a merges.txt, with or without a header. None if there is anything else, a merge with unknown
// tokens, or a repeated merge.
std::optional<MergesFile> read_merges(std::string_view text, const std::vector<std::string_view>& tokens);

}  // namespace hf_bpe
