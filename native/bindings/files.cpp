// Python bindings of reading and writing vocabularies and merges, without an object of Python for each step.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bindings/python.hpp"
#include "bindings/vocabularies.hpp"
#include "files/merges_file.hpp"
#include "files/model_json.hpp"
#include "files/printable.hpp"

namespace hf_bpe {
namespace {

constexpr std::uint32_t kMaxIds = 1 << 22;  // in a table by id

using Strings = Typed<nb::list, "list[str]">;

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

Strings to_printable(const ByteStrings& tokens) {
  nb::list texts;
  std::u16string characters;
  for (nb::handle token : items_of(tokens.value, "tokens")) {
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
Typed<nb::object, "str | None"> join_merges(const nb::bytes& merges, const nb::bytes& ids, const Strings& texts,
                                            const std::string& before, const std::string& between,
                                            const std::string& after) {
  std::vector<std::uint32_t> places;
  std::uint32_t number = 0;
  for (const std::uint32_t id : numbers_of(ids)) {
    if (id >= kMaxIds) return nb::none();
    if (id >= places.size()) places.resize(id + 1, kMaxIds);
    places[id] = number++;
  }
  const JoinedTexts text_of(texts, number);
  const std::vector<std::uint32_t> merged = numbers_of(merges);
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

nb::object bytes_of(const std::vector<std::uint32_t>& numbers) {
  return bytes_from({reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(std::uint32_t)});
}

// A TokenArrays while it is made.
struct ArraysOfTokens {
  void add(std::uint32_t id, std::string_view token) {
    data += token;
    sizes.push_back(static_cast<std::uint32_t>(token.size()));
    ids.push_back(id);
  }
  TokenArrays take() const { return nb::make_tuple(bytes_from(data), bytes_of(sizes), bytes_of(ids)); }

  std::string data;
  std::vector<std::uint32_t> sizes, ids;
};

// The tokens with other bytes for some ids, None for no token, in the order of the ids, without empty tokens.
TokenArrays change_tokens(const TokenArrays& tokens, const Typed<nb::dict, "dict[int, bytes | None]">& changes) {
  const GivenTokens given(tokens);
  std::unordered_set<std::uint32_t> changed;
  Vocabulary::Tokens items;
  items.reserve(given.items.size());
  const auto entries = items_of(changes.value);  // which keeps the tokens alive
  for (const auto& [key, value] : entries) {
    const auto id = number_of<std::uint32_t>(key, "changes");
    changed.insert(id);
    if (!value.is_none()) items.emplace_back(id, view_of(value, "changes"));
  }
  for (const auto& item : given.items) {
    if (!item.second.empty() && !changed.contains(item.first)) items.push_back(item);
  }
  const auto by_id = [](const auto& a, const auto& b) { return a.first < b.first; };
  if (!std::is_sorted(items.begin(), items.end(), by_id)) std::sort(items.begin(), items.end(), by_id);
  ArraysOfTokens arrays;
  for (const auto& [id, token] : items) arrays.add(id, token);
  return arrays.take();
}

// The ids of some of the tokens, as far as they are there.
Typed<nb::dict, "dict[bytes, int]"> find_tokens(const TokenArrays& tokens, const ByteStrings& wanted) {
  const GivenTokens given(tokens);
  const Held held = items_of(wanted.value, "wanted");
  std::unordered_map<std::string_view, nb::handle> objects;
  std::size_t longest = 0;
  for (nb::handle token : held) {
    const std::string_view bytes = view_of(token, "wanted");
    objects.emplace(bytes, token);
    longest = std::max(longest, bytes.size());
  }
  nb::dict found;
  for (const auto& [id, token] : given.items) {
    if (token.size() > longest) continue;
    if (const auto at = objects.find(token); at != objects.end()) found[at->second] = id;
  }
  return found;
}

// The ids of the tokens of each merge in 32 bits each.
nb::object ids_of(const MergesFile& file, const std::vector<std::uint32_t>& ids) {
  std::vector<std::uint32_t> merged;
  merged.reserve(3 * file.merges.size());
  for (const auto& [first, second, result] : file.merges) {
    for (const std::uint32_t number : {first, second, result}) merged.push_back(ids[number]);
  }
  return bytes_of(merged);
}

bool are_distinct(std::vector<std::uint32_t> ids) {
  if (!std::is_sorted(ids.begin(), ids.end())) std::sort(ids.begin(), ids.end());
  return std::adjacent_find(ids.begin(), ids.end()) == ids.end();
}

// A hf_bpe.formats._files.native_readers.FileModel. None if two tokens have the same text or id.
nb::object file_model(const FileModel& file) {
  nb::dict unmerged;
  std::size_t number = 0;
  ArraysOfTokens tokens;
  for (std::size_t i = 0; i < file.vocab.entries.size(); ++i) {
    const auto& [written, token, id] = file.vocab.entries[i];
    tokens.add(id, token);
    if (file.merges.is_used[i]) continue;  // so it is distinct
    unmerged[nb::str(written.data(), written.size())] = id;
    ++number;
  }
  if (unmerged.size() != number || !are_distinct(tokens.ids)) return nb::none();
  return nb::make_tuple(unmerged, tokens.take(), ids_of(file.merges, tokens.ids));
}

Typed<nb::object, "tuple[dict[str, int], TokenArrays, bytes] | None"> read_vocab_and_merges_of(
    const nb::bytes& vocab_json, const nb::bytes& merges_txt) {
  const auto read = without_gil([&](const PollFunction&) {  // what is read is bytes, which cannot change
    return read_vocab_and_merges({vocab_json.c_str(), vocab_json.size()}, {merges_txt.c_str(), merges_txt.size()});
  });
  return read ? file_model(*read) : nb::none();
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

Typed<nb::object, "tuple[bytes, tuple[dict[str, int], TokenArrays, bytes]] | None"> read_model_of(
    const nb::bytes& content, bool as_text) {
  const std::string_view text(content.c_str(), content.size());
  const std::optional<ModelJson> model = without_gil(
      [&](const PollFunction&) { return read_model_json(text, as_text ? TokenForm::kText : TokenForm::kPrintable); });
  if (!model) return nb::none();
  const nb::object read = file_model(*model);
  return read.is_none() ? read : nb::make_tuple(rest_of(text, *model), read);
}

}  // namespace

void bind_files(nb::module_& module) {
  module.def("from_printable", &from_printable, "texts"_a,
             "Return what `hf_bpe.pretokenizers.from_printable` does of each text.");
  module.def("to_printable", &to_printable, "tokens"_a, "Return `hf_bpe.pretokenizers.to_printable` of each token.");
  module.def("change_tokens", &change_tokens, "tokens"_a, "changes"_a,
             "Return tokens in the order of their ids, without empty ones, and with other bytes for some ids or none.");
  module.def("find_tokens", &find_tokens, "tokens"_a, "wanted"_a, "Return token → id of the wanted tokens that exist.");
  module.def("join_merges", &join_merges, "merges"_a, "ids"_a, "texts"_a, "before"_a, "between"_a, "after"_a,
             R"(Return the text of merges: for each the texts of both parts; None if ids are large.

Args:
    merges: the ids of the first part, the second part and the result of each, in 32 bits each.
    ids: the ids of tokens, in 32 bits each.
    texts: the texts of these tokens.
    before, between, after: what stands before the first part, between the parts, and after the second.
)");
  module.def("read_vocab_and_merges", &read_vocab_and_merges_of, "vocab_json"_a, "merges_txt"_a,
             R"(Read the content of a `vocab.json`, and that of a `merges.txt` with or without a header.

Returns:
    What `hf_bpe.formats._files.native_readers.FileModel` has. None if the first is not a JSON object in UTF-8 of
    distinct keys to distinct ids of 32 bits, or the second has anything but merges of its tokens, or one twice.
)");
  module.def("read_model", &read_model_of, "text"_a, "as_text"_a = false,
             R"(Read `model.vocab` and `model.merges` in the content of a `tokenizer.json`.

Args:
    text: the content.
    as_text: whether tokens are written as text, and not each byte as a printable character.

Returns:
    The text with `{}` and `[]` in their places, which is valid JSON if and only if the text is; and the result of
    `read_vocab_and_merges`. None if either is missing or irregular.
)");
}

}  // namespace hf_bpe
