// Python bindings of reading and writing vocabularies and merges, without an object of Python for each step.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/python.hpp"
#include "files/merges_file.hpp"
#include "files/model_json.hpp"
#include "files/printable.hpp"

namespace hf_bpe {
namespace {

constexpr std::uint32_t kMaxIds = 1 << 22;  // in a table by id

using Strings = Typed<nb::list, "list[str]">;
using Integers = Typed<nb::list, "list[int]">;

nb::object bytes_from(std::string_view bytes) {
  nb::object object = nb::steal(PyBytes_FromStringAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
  if (!object.is_valid()) throw nb::python_error();
  return object;
}

Typed<nb::list, "list[bytes | None]"> from_printable(const Strings& texts) {
  nb::list tokens;
  std::string bytes;
  for (nb::handle text : items_of(texts.value, "texts")) {
    if (!PyUnicode_Check(text.ptr())) throw nb::type_error("texts: expected str");
#if PY_VERSION_HEX < 0x030C0000
    if (PyUnicode_READY(text.ptr()) != 0) throw nb::python_error();
#endif
    bytes.clear();
    bool is_printable = true;
    for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(text.ptr()); ++i) {
      const int byte = byte_of(PyUnicode_READ_CHAR(text.ptr(), i));
      is_printable &= byte >= 0;
      bytes.push_back(static_cast<char>(byte));
    }
    tokens.append(is_printable ? bytes_from(bytes) : nb::object(nb::none()));
  }
  return tokens;
}

// Tokens in `kept` have the str that it gives instead.
Strings to_printable(const ByteStrings& tokens, const Typed<nb::dict, "dict[bytes, str]">& kept) {
  nb::list texts;
  std::u16string characters;
  for (nb::handle token : items_of(tokens.value, "tokens")) {
    if (PyBytes_CheckExact(token.ptr())) {
      if (const nb::object text = value_of(kept.value, token); text.is_valid()) {
        texts.append(text);
        continue;
      }
    }
    characters.clear();
    for (const char byte : view_of(token, "tokens")) {
      characters.push_back(static_cast<char16_t>(character_of(static_cast<std::uint8_t>(byte))));
    }
    nb::object text = nb::steal(
        PyUnicode_FromKindAndData(PyUnicode_2BYTE_KIND, characters.data(), static_cast<Py_ssize_t>(characters.size())));
    if (!text.is_valid()) throw nb::python_error();
    texts.append(text);
  }
  return texts;
}

// Texts one after the other, because reading them from as many objects takes as many waits for memory.
struct JoinedTexts {
  explicit JoinedTexts(const nb::list& texts, std::size_t number) {
    const Held held = items_of(texts, "texts");
    if (held.size() != number) throw nb::value_error("texts: expected one for each id");
    for (nb::handle each : held) {
      if (!PyUnicode_Check(each.ptr())) throw nb::type_error("texts: expected str");
      Py_ssize_t size;
      const char* data = PyUnicode_AsUTF8AndSize(each.ptr(), &size);
      if (data == nullptr) throw nb::python_error();
      all.append(data, static_cast<std::size_t>(size));
      ends.push_back(all.size());
    }
  }
  std::string_view operator[](std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends[i - 1];
    return std::string_view(all).substr(begin, ends[i] - begin);
  }

  std::string all;
  std::vector<std::size_t> ends;
};

// The text of merges: for each merge the texts of both parts, which `texts` has for each of the tokens with `ids`, with
// what comes before, between and after them. Merges are ids of both parts and of the result, as in ids_of.
Typed<nb::object, "str | None"> join_merges(const nb::bytes& merges, const Integers& ids, const Strings& texts,
                                            const std::string& before, const std::string& between,
                                            const std::string& after) {
  const Held held_ids = items_of(ids.value, "ids");
  std::vector<std::uint32_t> places;
  for (std::size_t i = 0; i < held_ids.size(); ++i) {
    const auto id = number_of<std::uint32_t>(held_ids[i], "ids");
    if (id >= kMaxIds) return nb::none();
    if (id >= places.size()) places.resize(id + 1, kMaxIds);
    places[id] = static_cast<std::uint32_t>(i);
  }
  const JoinedTexts text_of(texts, held_ids.size());
  std::vector<std::uint32_t> merged(merges.size() / sizeof(std::uint32_t));
  std::memcpy(merged.data(), merges.c_str(), merged.size() * sizeof(std::uint32_t));
  std::string joined;
  for (std::size_t i = 0; i + 2 < merged.size(); i += 3) {
    for (std::size_t side = 0; side < 2; ++side) {
      const std::uint32_t id = merged[i + side];
      if (id >= places.size() || places[id] == kMaxIds) throw nb::value_error("merges: an id is not among the ids");
      joined.append(side == 0 ? before : between).append(text_of[places[id]]);
    }
    joined += after;
  }
  nb::object text = nb::steal(PyUnicode_DecodeUTF8(joined.data(), static_cast<Py_ssize_t>(joined.size()), nullptr));
  if (!text.is_valid()) throw nb::python_error();
  return text;
}

// The ids of the tokens of each merge in 32 bits each.
nb::object ids_of(const MergesFile& file, const std::vector<std::uint32_t>& ids) {
  std::vector<std::uint32_t> merged;
  merged.reserve(3 * file.merges.size());
  for (const auto& [first, second, result] : file.merges) {
    for (const std::uint32_t number : {first, second, result}) merged.push_back(ids[number]);
  }
  return bytes_from({reinterpret_cast<const char*>(merged.data()), merged.size() * sizeof(std::uint32_t)});
}

// `tokens` may have None in place of tokens that no merge has.
Typed<nb::object, "tuple[bytes, bytes] | None"> read_merges_of(
    const nb::bytes& text, const Typed<nb::list, "list[bytes | None]">& tokens, const Integers& token_ids) {
  const Held held = items_of(tokens.value, "tokens"), held_ids = items_of(token_ids.value, "ids");
  if (held.size() != held_ids.size()) throw nb::value_error("ids: expected one for each token");
  std::vector<std::string_view> views;
  std::vector<std::uint32_t> ids;
  for (nb::handle token : held) views.push_back(token.is_none() ? std::string_view() : view_of(token, "tokens"));
  for (nb::handle id : held_ids) ids.push_back(number_of<std::uint32_t>(id, "ids"));
  const std::optional<MergesFile> file = without_gil(  // what is read is bytes, which cannot change
      [&](const PollFunction&) { return read_merges({text.c_str(), text.size()}, views); });
  if (!file) return nb::none();
  return nb::make_tuple(bytes_from({file->is_used.data(), file->is_used.size()}), ids_of(*file, ids));
}

bool are_distinct(std::vector<std::uint32_t> ids) {
  if (!std::is_sorted(ids.begin(), ids.end())) std::sort(ids.begin(), ids.end());
  return std::adjacent_find(ids.begin(), ids.end()) == ids.end();
}

// Token as it is written → id, and the tokens as bytes, None for those that are none. Irregular if an entry is not
// UTF-8, or two have the same text or id.
struct Vocab {
  explicit Vocab(const VocabJson& vocab) {
    const std::size_t size = vocab.entries.size();
    ids.reserve(size);
    for (const VocabJson::Entry& entry : vocab.entries) {
      const auto length = static_cast<Py_ssize_t>(entry.written.size());
      const nb::object text = nb::steal(PyUnicode_DecodeUTF8(entry.written.data(), length, nullptr));
      if (!text.is_valid()) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) throw nb::python_error();
        PyErr_Clear();
        return;
      }
      nb::object id = nb::steal(PyLong_FromUnsignedLong(entry.id));
      if (!id.is_valid() || PyDict_SetItem(entries.ptr(), text.ptr(), id.ptr()) != 0) throw nb::python_error();
      ids.push_back(entry.id);
      tokens.append(entry.token.empty() ? nb::object(nb::none()) : bytes_from(entry.token));
    }
    is_regular = entries.size() == size && are_distinct(ids);
  }

  nb::dict entries;
  nb::list tokens;
  std::vector<std::uint32_t> ids;
  bool is_regular = false;
};

Typed<nb::object, "tuple[dict[str, int], list[bytes | None]] | None"> read_vocab_of(const nb::bytes& text) {
  VocabJson vocab;
  {
    const NoGil no_gil;
    JsonCursor cursor({text.c_str(), text.size()});
    if (!vocab.read(cursor) || !cursor.is_end()) return nb::none();
  }
  const Vocab read(vocab);
  return read.is_regular ? nb::object(nb::make_tuple(read.entries, read.tokens)) : nb::none();
}

// A tokenizer.json without its vocabulary and merges.
nb::object rest_of(std::string_view text, const ModelJson& model) {
  const auto [first, second] =
      std::minmax(model.vocab_part, model.merges_part, [](const auto& a, const auto& b) { return a.begin < b.begin; });
  const bool is_vocab_first = model.vocab_part.begin == first.begin;
  std::string rest(text.substr(0, first.begin));
  rest.append(is_vocab_first ? "{}" : "[]").append(text.substr(first.end, second.begin - first.end));
  rest.append(is_vocab_first ? "[]" : "{}").append(text.substr(second.end));
  return bytes_from(rest);
}

Typed<nb::object, "tuple[bytes, dict[str, int], list[bytes | None], bytes, bytes] | None"> read_model_of(
    const nb::bytes& content, bool as_text) {
  const std::string_view text(content.c_str(), content.size());
  const std::optional<ModelJson> model = without_gil(
      [&](const PollFunction&) { return read_model_json(text, as_text ? TokenForm::kText : TokenForm::kPrintable); });
  if (!model) return nb::none();
  const Vocab vocab(model->vocab);
  if (!vocab.is_regular) return nb::none();
  return nb::make_tuple(rest_of(text, *model), vocab.entries, vocab.tokens,
                        bytes_from({model->merges.is_used.data(), model->merges.is_used.size()}),
                        ids_of(model->merges, vocab.ids));
}

}  // namespace

void bind_files(nb::module_& module) {
  module.def("from_printable", &from_printable, "texts"_a,
             "Return what `hf_bpe.pretokenizers.from_printable` does of each text.");
  module.def("to_printable", &to_printable, "tokens"_a, "kept"_a,
             "Return `hf_bpe.pretokenizers.to_printable` of each token, or the text that `kept` has for it.");
  module.def("join_merges", &join_merges, "merges"_a, "ids"_a, "texts"_a, "before"_a, "between"_a, "after"_a,
             R"(Return the text of merges: for each the texts of both parts; None if ids are large.

Args:
    merges: the ids of the first part, the second part and the result of each, in 32 bits each.
    ids: the ids of tokens.
    texts: the texts of these tokens.
    before, between, after: what stands before the first part, between the parts, and after the second.
)");
  module.def("read_merges", &read_merges_of, "text"_a, "tokens"_a, "ids"_a,
             R"(Read the content of a `merges.txt`.

Args:
    text: the content, with or without a header.
    tokens: the tokens that merges may have; None for what is in no merge.
    ids: the id of each token.

Returns:
    A byte for each token, 1 if it is a part of a merge or made by one; and `hf_bpe.core._model.MergeIds`. None if
    the text has anything else, or a merge twice.
)");
  module.def("read_vocab", &read_vocab_of, "text"_a,
             R"(Read the content of a `vocab.json`.

Returns:
    Printable token → id, in the order of the text, and `from_printable` of each. None if the text is not a JSON
    object in UTF-8 of distinct, nonempty keys to distinct ids of 32 bits.
)");
  module.def("read_model", &read_model_of, "text"_a, "as_text"_a = false,
             R"(Read `model.vocab` and `model.merges` in the content of a `tokenizer.json`.

Args:
    text: the content.
    as_text: whether tokens are written as text, and not each byte as a printable character.

Returns:
    The text with `{}` and `[]` in their places, which is valid JSON if and only if the text is; the result of
    `read_vocab`, and that of `read_merges`. None if either is missing or irregular.
)");
}

}  // namespace hf_bpe
