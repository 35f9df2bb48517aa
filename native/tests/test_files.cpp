// Tests of reading vocabularies and merges without Python, for sanitizers.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "examples.hpp"
#include "files/json_cursor.hpp"
#include "files/merges_file.hpp"
#include "files/model_json.hpp"
#include "files/printable.hpp"
#include "random.hpp"

namespace {

using namespace hf_bpe;
using namespace naive;

void check(bool is_true, const char* what) {
  if (is_true) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::exit(1);
}

void test_printable_characters() {
  for (int byte = 0; byte < 256; ++byte) {
    check(byte_of(character_of(static_cast<std::uint8_t>(byte))) == byte, "each byte has its own character");
  }
  std::string bytes;
  check(append_bytes("\xC4\xA0th\xC3\xA9", bytes) && bytes == " th\xE9", "characters become bytes");
  for (const char* text : {" ", "\xC4", "\xE4\xBD\xA0", "\xC5\x84", "\x80", "\xC0\x80"}) {
    check(!append_bytes(text, bytes), "what stands for no byte is refused");
  }
}

void test_strings() {
  std::string room;
  std::string_view string;
  const auto read = [&](std::string_view text) {
    JsonCursor cursor(text);
    return cursor.read_string(string, room) && cursor.is_end();
  };
  check(read(" \"a\xC4\xA0\" ") && string == "a\xC4\xA0", "a string without escapes");
  check(read(R"("\"\\\/\b\f\n\r\t\u0120\uD83D\uDE00")") && string == "\"\\/\b\f\n\r\t\xC4\xA0\xF0\x9F\x98\x80",
        "escapes");
  for (const char* text : {"", "a", "\"", "\"\\", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\ud800\"", "\"\\udc00\"",
                           "\"\\ud800\\u0041\"", "\"\\ud800\\\"", "\"\n\""}) {
    check(!read(text), "an irregular string is refused");
  }
}

void test_numbers() {
  std::uint32_t number = 0;
  const auto read = [&](std::string_view text) {
    JsonCursor cursor(text);
    return cursor.read_number(number) && cursor.is_end();
  };
  check(read("0") && number == 0 && read(" 4294967295") && number == 0xFFFFFFFF, "numbers");
  for (const char* text : {"", "-1", "01", "1.0", "1e3", "4294967296", "99999999999999999999999999", "x"}) {
    check(!read(text), "an irregular number is refused");
  }
}

const std::string kModel =
    R"({"version": "1.0", "x": [{"a": "]}\""}], "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "\u0120": 2, )"
    R"("ab": 3, "Ġa": 9, "<x y>": 5}, "k": null, "merges": ["a b", ["\u0120", "a"]], "z": {}}, "end": 1})";

void test_models() {
  const auto model = read_model_json(kModel);
  check(model && model->vocab.entries.size() == 6 && model->merges.merges.size() == 2, "a model");
  const auto& entry = model->vocab.entries[4];
  check(entry.written == "Ġa" && entry.token == " a" && entry.id == 9, "an entry");
  check(model->vocab.entries[5].token.empty(), "a token that is no bytes");
  const auto merge = model->merges.merges[1];
  check(merge.first == 2 && merge.second == 0 && merge.result == 4, "a merge");
  check(std::string(model->merges.is_used.begin(), model->merges.is_used.end()) == std::string("\1\1\1\1\1\0", 6),
        "used");
  const auto part = [&](ModelJson::Part part) { return kModel.substr(part.begin, part.end - part.begin); };
  check(part(model->vocab_part).front() == '{' && part(model->vocab_part).back() == '}', "where the vocabulary is");
  check(part(model->merges_part) == R"(["a b", ["\u0120", "a"]])", "where the merges are");
  for (const char* merges :
       {R"(["a  b"])", R"(["a b c"])", R"(["ab"])", R"(["a b", "a b"])", R"(["b a"])", R"(["a c"])", R"([["a"]])",
        R"([["a", "b", "c"]])", R"(["a b",])", R"(["a b")", R"([1])", R"([["", "a"]])"}) {
    const auto text = std::string(R"({"model": {"vocab": {"a": 0, "b": 1, "ab": 2}, "merges": )") + merges + "}}";
    check(!read_model_json(text), "irregular merges are refused");
  }
  check(read_model_json(R"({"model": {"merges": ["a b"], "vocab": {"a": 0, "b": 1, "ab": 2}}})").has_value(),
        "any order");
}

// A character stands for itself, whatever it would be in printable form.
void test_models_of_text() {
  const std::string text = R"({"model": {"vocab": {"▁": 0, "a": 1, "▁a": 2, "Ġ": 3, "\n": 4, "a b": 5}, "merges": [)";
  const std::string whole = text + R"("▁ a"]}})";  // entries refer to it
  const auto model = read_model_json(whole, TokenForm::kText);
  check(model && model->merges.merges.size() == 1 && model->merges.merges[0].result == 2, "merges of text");
  for (const auto& entry : model->vocab.entries) check(entry.token == entry.written, "tokens of text");
  check(!read_model_json(whole), "in printable form they would be others");
  for (const char* merges : {R"("a a b")", R"("a  b")", R"(["a", "b"])"}) {
    check(!read_model_json(text + merges + "]}}", TokenForm::kText), "irregular merges of text are refused");
  }
}

// No change of some bytes, and no beginning, may read beyond the text or hang.
void test_damaged_models() {
  const std::string bytes = "\"\\{}[],: 0u\x80\xC4 a";
  for (int i = 0; i < examples(20'000); ++i) {
    std::string text = kModel.substr(0, draw(3) == 0 ? draw(kModel.size()) : kModel.size());
    for (std::size_t j = draw(4); j > 0 && !text.empty(); --j) text[draw(text.size())] = bytes[draw(bytes.size())];
    if (const auto model = read_model_json(text, draw(2) ? TokenForm::kPrintable : TokenForm::kText)) {
      check(model->vocab_part.end <= text.size() && model->merges_part.end <= text.size(), "parts are in the text");
    }
  }
}

// More than a batch of merges, of short and of long tokens.
void test_many_merges() {
  std::string vocab = R"({"model": {"vocab": {"a": 0)", merges;
  for (int i = 2; i < 300; ++i) {
    vocab += ", \"" + std::string(static_cast<std::size_t>(i), 'a') + "\": " + std::to_string(i - 1);
    merges += std::string(i == 2 ? "" : ", ") + "\"a " + std::string(static_cast<std::size_t>(i - 1), 'a') + '"';
  }
  const auto model = read_model_json(vocab + R"(}, "merges": [)" + merges + "]}}");
  check(model && model->merges.merges.size() == 298, "many merges");
  for (std::uint32_t i = 0; i < 298; ++i) {
    const auto [first, second, result] = model->merges.merges[i];
    check(first == 0 && second == i && result == i + 1, "each merge has its tokens");
  }
  check(!read_model_json(vocab + R"(}, "merges": [)" + merges + ", \"a aa\"]}}"), "a repeated merge is refused");
}

void test_merges_are_read_or_not_whatever_the_text() {
  const std::vector<std::string> tokens = {"a", "b", "ab", "\xFF", " ", " a", "a\xFF"};
  const std::vector<std::string_view> views(tokens.begin(), tokens.end());
  const std::vector<std::string> pieces = {"a",        "b",    "ab",   "\xC3\xBF",     "\xC4\xA0", " ",  "\n",   "\n",
                                           "#version", "\xC3", "\xBF", "\xE4\xBD\xA0", "\xC5\x83", "\r", "a b\n"};
  std::size_t read = 0;
  for (int i = 0; i < examples(20'000); ++i) {
    std::string text;
    for (std::size_t j = draw(8); j > 0; --j) text += draw_from(pieces);
    const std::optional<MergesFile> file = read_merges(text, views);
    if (!file) continue;
    read += !file->merges.empty();
    std::vector<char> is_used(tokens.size());
    for (const auto& [first, second, result] : file->merges) {
      check(tokens[result] == tokens[first] + tokens[second], "a merge makes its token");
      is_used[first] = is_used[second] = is_used[result] = 1;
    }
    check(file->is_used == is_used, "the tokens of merges are marked");
  }
  check(read > static_cast<std::size_t>(examples(100)), "some files are read");
}

}  // namespace

int main() {
  test_printable_characters();
  test_strings();
  test_numbers();
  test_models();
  test_models_of_text();
  test_damaged_models();
  test_many_merges();
  test_merges_are_read_or_not_whatever_the_text();
}
