// Python bindings of reading and writing vocabularies and merges, without an object of Python for each step.
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <tuple>
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

constexpr std::uint32_t kMaxIds = 1 << 21;  // of merges

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

// Appends a byte as JSON escapes it in a string, or `repr` of Python in bytes with this quote.
void append_escaped(char byte, char quote, bool is_json, std::string& text) {
  constexpr std::string_view kNamed = "\t\n\r\b\f", kLetters = "tnrbf", kHex = "0123456789abcdef";
  const auto number = static_cast<std::uint8_t>(byte);
  if (const std::size_t at = kNamed.find(byte); at < (is_json ? kNamed.size() : 3)) {
    (text += '\\') += kLetters[at];
  } else if (byte == quote || byte == '\\') {
    (text += '\\') += byte;
  } else if (number < 0x20 || (number >= 0x7F && !is_json)) {
    ((text += is_json ? "\\u00" : "\\x") += kHex[number >> 4]) += kHex[number & 15];
  } else {
    text += byte;
  }
}

// Tokens as files write them, one after the other, because reading as many objects takes as many waits for memory.
struct WrittenTokens {
  WrittenTokens(const Vocabulary::Tokens& tokens, const std::string& form, const std::optional<nb::bytes>& text_ids) {
    const std::vector<std::uint32_t> ids = numbers_of(text_ids.value_or(nb::bytes("", 0)));
    const std::unordered_set<std::uint32_t> texts(ids.begin(), ids.end());
    for (const auto& [id, token] : tokens) {
      const bool is_repr = form == "repr", is_text = is_repr || !text_ids || texts.contains(id);
      const char quote = !is_repr || (token.find('\'') != token.npos && token.find('"') == token.npos) ? '"' : '\'';
      if (is_repr) (all += 'b') += quote;
      for (const char byte : token) {
        const std::uint32_t character = is_text ? 0 : character_of(static_cast<std::uint8_t>(byte));
        if (character >= 0x80) {
          (all += static_cast<char>(0xC0 | character >> 6)) += static_cast<char>(0x80 | (character & 0x3F));
        } else if (form == "plain") {
          all += byte;
        } else {
          append_escaped(byte, quote, !is_repr, all);
        }
      }
      if (is_repr) all += quote;
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

// Each token and its id or, if there are merges, the parts of each merge, with what comes before, between and after.
Typed<nb::object, "bytes | None"> write_tokens(const TokenArrays& tokens, const std::string& form,
                                               const std::optional<nb::bytes>& text_ids,
                                               const std::optional<nb::bytes>& merges,
                                               const std::tuple<std::string, std::string, std::string>& around) {
  const auto& [before, between, after] = around;
  const GivenTokens given(tokens);
  const auto is_large = [](const auto& item) { return item.first >= kMaxIds; };
  if (merges && std::any_of(given.items.begin(), given.items.end(), is_large)) return nb::none();
  const WrittenTokens written(given.items, form, text_ids);
  const std::size_t size = given.items.size();
  std::string joined;
  for (std::size_t i = 0; !merges && i < size; ++i) {
    joined.append(before).append(written[i]).append(between).append(std::to_string(given.items[i].first)) += after;
  }
  for (const auto& [first, second, _] : merges ? merges_by_id(given, *merges) : std::vector<Vocabulary::Merge>()) {
    if (first >= size || second >= size) throw nb::value_error("merge_ids: an id of no token");  // not checked so far
    joined.append(before).append(written[first]).append(between).append(written[second]) += after;
  }
  return bytes_from(joined);
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
  module.def("change_tokens", &change_tokens, "tokens"_a, "changes"_a,
             "Return tokens in the order of their ids, without empty ones, and with other bytes for some ids or none.");
  module.def("find_tokens", &find_tokens, "tokens"_a, "wanted"_a, "Return token → id of the wanted tokens that exist.");
  module.def("write_tokens", &write_tokens, "tokens"_a, "form"_a, "text_ids"_a.none(), "merges"_a.none(), "around"_a,
             "Return what `hf_bpe.core._arrays.TokenArrays.write` does; None if ids of merges are large.");
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
