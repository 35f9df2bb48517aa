#include "files/model_json.hpp"

#include <algorithm>
#include <utility>

#include "files/printable.hpp"
#include "text/unicode.hpp"

namespace hf_bpe {
namespace {

// Moves to the value of a key in an object that begins here. Returns false if there is none.
bool find_value(JsonCursor& cursor, std::string_view key) {
  if (!cursor.take('{')) return false;
  std::string room;
  std::string_view name;
  do {
    if (!cursor.read_string(name, room) || !cursor.take(':')) return false;
    if (name == key) return true;
    if (!cursor.skip_value()) return false;
  } while (cursor.take(','));
  return false;
}

// Reads an array of merges, "first second" or ["first", "second"].
bool read_merges(JsonCursor& cursor, MergesReader& reader) {
  std::string rooms[2];
  std::string_view first, second;
  if (!cursor.take('[')) return false;
  if (cursor.take(']')) return true;
  do {
    if (cursor.take('[')) {
      if (!cursor.read_string(first, rooms[0]) || !cursor.take(',') || !cursor.read_string(second, rooms[1]) ||
          !cursor.take(']') || !reader.add(first, second)) {
        return false;
      }
    } else if (!cursor.read_string(first, rooms[0]) || !reader.add(first)) {
      return false;
    }
  } while (cursor.take(','));
  return cursor.take(']') && reader.finish();
}

std::vector<std::string_view> tokens_of(const VocabJson& vocab) {
  std::vector<std::string_view> tokens;
  tokens.reserve(vocab.entries.size());
  for (const VocabJson::Entry& entry : vocab.entries) tokens.push_back(entry.token);
  return tokens;
}

bool is_utf8(std::string_view text) {
  const auto* at = reinterpret_cast<const Byte*>(text.data());
  for (const Byte* end = at + text.size(); at < end;) {
    const unsigned length = character_at(at, end).length;
    if (length == 1 && *at >= 0x80) return false;
    at += length;
  }
  return true;
}

}  // namespace

bool VocabJson::read(JsonCursor& cursor, TokenForm form) {
  constexpr std::size_t kPiece = std::size_t{1} << 18;
  std::string room;
  if (!cursor.take('{')) return false;
  if (cursor.take('}')) return true;
  do {
    Entry entry{};
    if (!cursor.read_string(entry.written, room)) return false;
    if (entry.written.data() == room.data()) entry.written = unescaped_.emplace_back(entry.written);
    if (!cursor.take(':') || !cursor.read_number(entry.id)) return false;
    if (form == TokenForm::kText) {
      if (!is_utf8(entry.written)) return false;
      entry.token = entry.written;
      entries.push_back(entry);
      continue;
    }
    // A token has no more bytes than its printable form, so no piece ever grows.
    if (bytes_.empty() || bytes_.back().capacity() - bytes_.back().size() < entry.written.size()) {
      bytes_.emplace_back().reserve(std::max(kPiece, entry.written.size()));
    }
    std::string& piece = bytes_.back();
    const std::size_t begin = piece.size();
    if (append_bytes(entry.written, piece)) {
      entry.token = std::string_view(piece).substr(begin);
    } else {
      if (!is_utf8(entry.written)) return false;
      piece.resize(begin);
    }
    entries.push_back(entry);
  } while (cursor.take(','));
  return cursor.take('}');
}

std::optional<ModelJson> read_model_json(std::string_view text, TokenForm form) {
  JsonCursor cursor(text);
  if (!find_value(cursor, "model") || !cursor.take('{')) return std::nullopt;
  ModelJson model;
  std::optional<JsonCursor> merges;  // where they begin
  bool has_vocab = false;
  std::string room;
  std::string_view key;
  do {
    if (!cursor.read_string(key, room) || !cursor.take(':')) return std::nullopt;
    if (key == "vocab") {
      if (has_vocab || !cursor.is_next('{')) return std::nullopt;
      model.vocab_part.begin = cursor.position();
      if (!model.vocab.read(cursor, form)) return std::nullopt;
      model.vocab_part.end = cursor.position();
      has_vocab = true;
    } else if (key == "merges") {
      if (merges || !cursor.is_next('[')) return std::nullopt;
      merges = cursor;
      if (has_vocab) break;  // nothing else is looked for
      if (!cursor.skip_value()) return std::nullopt;
    } else if (!cursor.skip_value()) {
      return std::nullopt;
    }
  } while (cursor.take(','));
  if (!has_vocab || !merges) return std::nullopt;

  const std::vector<std::string_view> tokens = tokens_of(model.vocab);
  model.merges_part.begin = merges->position();
  const std::string_view rest = text.substr(model.merges_part.begin);
  JsonCursor first = *merges;
  const bool are_arrays = first.take('[') && first.is_next('[');
  const auto most = static_cast<std::size_t>(std::count(rest.begin(), rest.end(), are_arrays ? '[' : ',')) + 1;
  if (!MergesReader::fits(tokens.size(), most)) return std::nullopt;
  MergesReader reader(tokens, most, form);
  if (!read_merges(*merges, reader)) return std::nullopt;
  model.merges_part.end = merges->position();
  model.merges = reader.take();
  return model;
}

std::optional<FileModel> read_vocab_and_merges(std::string_view vocab_json, std::string_view merges_txt) {
  JsonCursor cursor(vocab_json);
  FileModel model;
  if (!model.vocab.read(cursor) || !cursor.is_end()) return std::nullopt;
  std::optional<MergesFile> merges = read_merges(merges_txt, tokens_of(model.vocab));
  if (!merges) return std::nullopt;
  model.merges = std::move(*merges);
  return model;
}

}  // namespace hf_bpe
