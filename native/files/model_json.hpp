// Vocabulary and merges in JSON: vocab.json, and the two large values of a tokenizer.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "files/json_cursor.hpp"
#include "files/merges_file.hpp"

namespace hf_bpe {

// The entries of an object of token → id.
struct VocabJson {
  VocabJson() = default;
  VocabJson(VocabJson&&) = default;  // a copy would refer to the original
  VocabJson& operator=(VocabJson&&) = default;

  struct Entry {
    std::string_view written;  // UTF-8
    std::string_view token;    // empty if a character stands for no byte
    std::uint32_t id;
  };
  std::vector<Entry> entries;

  // Reads an object, whose keys may be repeated. Returns false if it is irregular.
  bool read(JsonCursor& cursor, TokenForm form = TokenForm::kPrintable);

 private:
  std::deque<std::string> unescaped_;  // keys that have escapes
  std::deque<std::string> bytes_;      // tokens, in pieces of constant address
};

struct FileModel {
  VocabJson vocab;
  MergesFile merges;
};

// The model in a tokenizer.json.
struct ModelJson : FileModel {
  struct Part {
    std::size_t begin, end;  // in the text
  };
  Part vocab_part{}, merges_part{};
};

// Reads model.vocab and model.merges, and finds where other values end. The rest of the text, with {} and [] in their
// places, decides whether all is valid. None if a key is missing or a value is irregular: merges of what is not in the
// vocabulary or makes nothing in it, a merge given twice.
std::optional<ModelJson> read_model_json(std::string_view text, TokenForm form = TokenForm::kPrintable);

// Reads a vocab.json and a merges.txt. None if one is irregular.
std::optional<FileModel> read_vocab_and_merges(std::string_view vocab_json, std::string_view merges_txt);

}  // namespace hf_bpe
