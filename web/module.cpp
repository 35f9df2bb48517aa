// The core as a WebAssembly module, which holds one tokenizer. It is compiled without exceptions (see __cxa_throw), so
// what throws ends the instance; web/tokenizer.js checks what the core would refuse before it calls.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <typeinfo>
#include <unordered_map>
#include <utility>
#include <vector>

#include "added_tokens/added_tokens.hpp"
#include "encode/decoder.hpp"
#include "encode/encoder.hpp"
#include "files/model_json.hpp"
#include "merge/characters.hpp"
#include "scan/characters.hpp"
#include "scan/pattern_names.hpp"

#define EXPORT(name) extern "C" __attribute__((export_name(#name)))

namespace hf_bpe {
namespace {

constexpr std::string_view kSpace = "\u2581";  // what models of characters write for a space
constexpr std::uint32_t kNoId = 0xFFFFFFFF;
constexpr std::uint32_t kMaxId = (1 << 21) - 1;  // as in the bindings for Python

// What is needed until the encoder is made.
struct Reading {
  std::unique_ptr<char[]> content;  // of the file, which the model refers to
  ModelJson model;
  std::unordered_map<std::string_view, std::size_t> places;  // of entries, by what is written
  std::vector<AddedToken> raw, normalized;                   // searched in text before and after normalization
  Decoder::Tokens contents;                                  // of added tokens, which refer to the following
  std::deque<std::string> texts;
};

struct Tokenizer {
  std::unique_ptr<Reading> reading = std::make_unique<Reading>();
  std::optional<AddedTokens> raw_tokens;
  std::optional<Encoder> whole;     // for text that normalization leaves as it is
  std::optional<Encoder> segments;  // for normalized text between tokens that were found before
  Decoder decoder;
  std::vector<bool> are_bytes;  // by id: a token of one byte in a model of characters
  std::string special;          // by id: 1 for special tokens
  EncodingOptions options;
  // Results, valid until the next call.
  IdBuffer ids;
  std::vector<std::uint32_t> places;
  std::string bytes;
};

Tokenizer self;

const Byte* bytes_at(const char* data) { return reinterpret_cast<const Byte*>(data); }

std::string with_spaces(std::string_view token) {
  std::string text;
  for (std::size_t at; (at = token.find(kSpace)) != std::string_view::npos; token.remove_prefix(at + kSpace.size())) {
    text.append(token.substr(0, at)).push_back(' ');
  }
  return text.append(token);
}

// The byte that the decoder ByteFallback takes a token for, as in hf_bpe/reference/_decoding.py; -1 if it is text.
int byte_of_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  const auto digit = [](char hex) {
    if (hex >= '0' && hex <= '9') return hex - '0';
    if (hex >= 'A' && hex <= 'F') return hex - 'A' + 10;
    return hex >= 'a' && hex <= 'f' ? hex - 'a' + 10 : -1;
  };
  const int high = token[3] == '+' ? 0 : digit(token[3]), low = digit(token[4]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

const VocabJson::Entry* find_entry(std::string_view written) {
  const auto found = self.reading->places.find(written);
  return found == self.reading->places.end() ? nullptr : &self.reading->model.vocab.entries[found->second];
}

bool is_merged(const VocabJson::Entry& entry) {
  const std::vector<char>& used = self.reading->model.merges.is_used;
  return used[static_cast<std::size_t>(&entry - self.reading->model.vocab.entries.data())] != 0;
}

// What remains once the encoder of text without added tokens is known. One chunk holds a text, for there are no
// threads.
void finish(const Encoder& plain, const Decoder::Tokens& tokens) {
  Reading& reading = *self.reading;
  std::vector<AddedToken> all = reading.raw;
  all.insert(all.end(), reading.normalized.begin(), reading.normalized.end());
  self.whole.emplace(plain.with_added_tokens(all));
  self.segments.emplace(plain.with_added_tokens(reading.normalized));
  self.raw_tokens.emplace(reading.raw);
  self.decoder.add(tokens);
  self.decoder.add(reading.contents);
  for (const AddedToken& token : all) {
    if (!token.special) continue;
    self.special.resize(std::max(self.special.size(), std::size_t{token.id} + 1));
    self.special[token.id] = 1;
  }
  self.reading.reset();
}

// There are no threads to share a text.
constexpr std::size_t kOneChunk = static_cast<std::size_t>(-1) / 2;

const auto kNoPollInText = [](std::size_t) {};

}  // namespace

// Memory for arguments.
EXPORT(allocate) void* allocate(std::size_t size) { return std::malloc(std::max<std::size_t>(size, 1)); }
EXPORT(release) void release(void* memory) { std::free(memory); }

// Where results are; places are numbers of 32 bits.
EXPORT(ids) const std::uint32_t* ids() { return self.ids.begin(); }
EXPORT(places) const std::uint32_t* places() { return self.places.data(); }
EXPORT(bytes) const char* bytes() { return self.bytes.data(); }
EXPORT(bytes_size) std::size_t bytes_size() { return self.bytes.size(); }

// Reads vocabulary and merges of a tokenizer.json; `bytes` is then the rest of it, with {} and [] in their places.
// Returns 0 if any is irregular, else 1 for tokens of printable bytes and 2 for tokens of text.
EXPORT(read_model) int read_model(const char* data, std::size_t size) {
  Reading& reading = *self.reading;
  reading.content.reset(new char[size]);
  std::copy(data, data + size, reading.content.get());
  const std::string_view text(reading.content.get(), size);
  const bool is_text = text.find("\"ByteLevel\"") == std::string_view::npos;
  std::optional<ModelJson> model = read_model_json(text, is_text ? TokenForm::kText : TokenForm::kPrintable);
  if (!model) return 0;
  reading.model = std::move(*model);
  const auto& entries = reading.model.vocab.entries;
  std::vector<bool> are_known(kMaxId + 1);
  reading.places.reserve(entries.size());
  for (std::size_t place = 0; place < entries.size(); ++place) {
    const auto& [written, token, id] = entries[place];
    if (id > kMaxId || are_known[id] || !reading.places.emplace(written, place).second) return 0;
    are_known[id] = true;
  }
  const auto [first, second] = std::minmax(reading.model.vocab_part, reading.model.merges_part,
                                           [](const auto& a, const auto& b) { return a.begin < b.begin; });
  const bool is_vocab_first = reading.model.vocab_part.begin == first.begin;
  self.bytes.assign(text.substr(0, first.begin)).append(is_vocab_first ? "{}" : "[]");
  self.bytes.append(text.substr(first.end, second.begin - first.end)).append(is_vocab_first ? "[]" : "{}");
  self.bytes.append(text.substr(second.end));
  return is_text ? 2 : 1;
}

EXPORT(vocabulary_size) std::size_t vocabulary_size() { return self.reading->model.vocab.entries.size(); }
EXPORT(highest_id) std::uint32_t highest_id() {
  std::uint32_t highest = 0;
  for (const auto& entry : self.reading->model.vocab.entries) highest = std::max(highest, entry.id);
  return highest;
}
// How many bytes have no token.
EXPORT(missing_bytes) std::size_t missing_bytes() {
  const auto& entries = self.reading->model.vocab.entries;
  const auto is_byte = [](const auto& entry) { return entry.token.size() == 1; };
  return 256 - static_cast<std::size_t>(std::count_if(entries.begin(), entries.end(), is_byte));
}
// The id of a token as it is written in the vocabulary, -1 if it has none.
EXPORT(vocabulary_id) std::int32_t vocabulary_id(const char* written, std::size_t size) {
  const VocabJson::Entry* const entry = find_entry({written, size});
  return entry == nullptr ? -1 : static_cast<std::int32_t>(entry->id);
}
// Whether a token is a part or the result of a merge.
EXPORT(is_in_merges) bool is_in_merges(const char* written, std::size_t size) {
  const VocabJson::Entry* const entry = find_entry({written, size});
  return entry != nullptr && is_merged(*entry);
}

// Flags: 1 special, 2 normalized, 4 lstrip, 8 rstrip, 16 single_word. `searched` is what text has in place of `content`
// after normalization.
EXPORT(add_token)
void add_token(std::uint32_t id, unsigned flags, const char* content, std::size_t size, const char* searched,
               std::size_t searched_size) {
  Reading& reading = *self.reading;
  const std::string& text = reading.texts.emplace_back(content, size);
  reading.contents.emplace_back(id, text);
  const bool is_normalized = (flags & 2) != 0;
  (is_normalized ? reading.normalized : reading.raw)
      .push_back({std::string(searched, searched_size), id, (flags & 1) != 0, is_normalized, (flags & 4) != 0,
                  (flags & 8) != 0, (flags & 16) != 0});
}

// Makes the encoder of a byte-level model. Bytes without a token become `unknown_id`, or are dropped without one.
// Returns whether the pattern is known; "" is none.
EXPORT(make_byte_encoder)
bool make_byte_encoder(const char* name, std::size_t size, bool adds_prefix_space, bool ignores_merges,
                       std::uint32_t unknown_id) {
  Reading& reading = *self.reading;
  std::optional<Pattern::Name> pattern = Pattern::kNone;
  if (size != 0) pattern = pattern_named({name, size});
  if (!pattern) return false;
  std::unordered_map<std::uint32_t, std::string_view> contents(reading.contents.begin(), reading.contents.end());
  std::vector<std::uint32_t> places;  // of entries among the tokens
  Vocabulary::Tokens tokens, decoded;
  for (const VocabJson::Entry& entry : reading.model.vocab.entries) {
    places.push_back(static_cast<std::uint32_t>(tokens.size()));
    if (!entry.token.empty()) tokens.emplace_back(entry.id, entry.token);
    // Only tokens that text is encoded to are written as printable bytes.
    const auto added = contents.find(entry.id);
    const bool is_of_text = entry.token.size() == 1 || is_merged(entry) || added == contents.end();
    decoded.emplace_back(entry.id, !is_of_text ? added->second : entry.token.empty() ? entry.written : entry.token);
  }
  std::vector<Vocabulary::Merge> merges = std::move(reading.model.merges.merges);
  for (auto& [first, second, result] : merges) {
    first = places[first], second = places[second], result = places[result];
  }
  self.options.add_prefix_space = adds_prefix_space;
  if (unknown_id != kNoId) self.options.unknown_id = unknown_id;
  const bool drops_bytes = unknown_id == kNoId && missing_bytes() != 0;
  const Vocabulary::Tokens whole_words = ignores_merges ? tokens : Vocabulary::Tokens();
  const Encoder plain(Vocabulary(tokens, merges, whole_words, drops_bytes), *pattern, widest_simd(), kOneChunk);
  finish(plain, decoded);
  return true;
}

// Makes the encoder of a model whose alphabet is characters, which writes spaces as U+2581. `prefix` is a PrefixSpace;
// without byte tokens, characters without a token are `unknown_id`.
EXPORT(make_character_encoder)
void make_character_encoder(unsigned prefix, bool splits, bool has_byte_tokens, std::uint32_t unknown_id,
                            bool fuses_unknown, bool keeps_spaces) {
  Reading& reading = *self.reading;
  const auto& entries = reading.model.vocab.entries;
  std::deque<std::string> texts;  // with spaces
  Vocabulary::Tokens tokens, decoded;
  std::vector<std::uint32_t> byte_ids(has_byte_tokens ? 256 : 0), excluded;
  for (const VocabJson::Entry& entry : entries) {
    tokens.emplace_back(entry.id, texts.emplace_back(with_spaces(entry.written)));
    if (entry.written.find(' ') != std::string_view::npos) excluded.push_back(entry.id);  // which no text has
  }
  if (has_byte_tokens) {
    constexpr std::string_view kHex = "0123456789ABCDEF";
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::string token = {'<', '0', 'x', kHex[byte / 16], kHex[byte % 16], '>'};
      const VocabJson::Entry* const entry = find_entry(token);
      byte_ids[byte] = entry == nullptr ? CharacterVocabulary::kNoByte : entry->id;
    }
  }
  const auto decode_as = [&](std::uint32_t id, std::string_view text) {
    const int byte = byte_of_token(text);
    if (byte >= 0) {
      self.are_bytes.resize(std::max(self.are_bytes.size(), std::size_t{id} + 1));
      self.are_bytes[id] = true;
      text = texts.emplace_back(1, static_cast<char>(byte));
    }
    decoded.emplace_back(id, text);
  };
  for (const auto& [id, text] : Vocabulary::Tokens(tokens)) decode_as(id, text);
  for (auto& [id, content] : reading.contents) {
    if (find_entry(content) == nullptr) decode_as(id, texts.emplace_back(with_spaces(content)));
  }
  reading.contents.clear();
  CharacterRules rules{static_cast<PrefixSpace>(prefix), splits, {}, fuses_unknown, keeps_spaces};
  if (unknown_id != kNoId) rules.unknown_id = unknown_id;
  const CharacterVocabulary characters(tokens, reading.model.merges.merges, byte_ids, excluded);
  const auto cuts = std::make_shared<const CharacterCuts>(characters.made(), characters.characters(), rules);
  finish(Encoder(characters.vocabulary(), Pattern(cuts), widest_simd(), kOneChunk), decoded);
}

// Finds the added tokens that are searched before normalization in text in UTF-8. Returns the number of parts; `places`
// has the beginning and end of each in bytes, and its id, 0xFFFFFFFF for text.
EXPORT(split) std::size_t split(const char* text, std::size_t size) {
  self.places.clear();
  const Byte* const begin = bytes_at(text);
  const auto add = [&](std::uint32_t id, const Byte* from, const Byte* to) {
    for (const Byte* at : {from, to}) self.places.push_back(static_cast<std::uint32_t>(at - begin));
    self.places.push_back(id);
  };
  self.raw_tokens->split(
      begin, begin + size, false, [&](const Byte* from, const Byte* to) { add(kNoId, from, to); }, add);
  return self.places.size() / 3;
}

// Encodes a text in UTF-8 and returns the number of `ids`. `is_segment`: it is normalized text between added tokens
// that were found by `split`, after the beginning of the text if it `continues`.
EXPORT(encode) std::size_t encode(const char* text, std::size_t size, bool is_segment, bool continues) {
  self.options.continued = continues;
  const Encoder& encoder = is_segment ? *self.segments : *self.whole;
  self.ids = encoder.encode({{bytes_at(text), bytes_at(text) + size}}, self.options, kNoPollInText).ids;
  return self.ids.size();
}

// The same for a text in UTF-16, given as units; `places` has the beginning and end of each id in units.
EXPORT(encode_with_offsets)
std::size_t encode_with_offsets(const char* text, std::size_t units, bool is_segment, bool continues) {
  self.options.continued = continues;
  const Encoder& encoder = is_segment ? *self.segments : *self.whole;
  const Text given{bytes_at(text), bytes_at(text) + 2 * units, false, false, 2};
  Encoder::EncodedWithOffsets encoded = encoder.encode_with_offsets({given}, self.options, self.decoder, kNoPollInText);
  self.ids = std::move(encoded.ids);
  self.places.clear();
  for (const TokenOffsets& each : encoded.token_offsets) {
    self.places.push_back(static_cast<std::uint32_t>(each.begin));
    self.places.push_back(static_cast<std::uint32_t>(each.end));
  }
  return self.ids.size();
}

// Writes the `bytes` of ids, and returns how many ids were done: all, or those before the first without a token.
EXPORT(decode) std::size_t decode(const std::uint32_t* given, std::size_t size, bool skips_special) {
  self.bytes.clear();
  return self.decoder.decode(given, size, skips_special ? self.special : std::string(), self.bytes, kNoPoll);
}
EXPORT(is_special) bool is_special(std::uint32_t id) { return id < self.special.size() && self.special[id] != 0; }
EXPORT(is_byte) bool is_byte(std::uint32_t id) { return id < self.are_bytes.size() && self.are_bytes[id]; }

}  // namespace hf_bpe

// What `throw` calls: the message is given to JavaScript, whose exception leaves the module. Nothing is unwound, so the
// instance is of no more use. All that the core throws is a std::exception, at the beginning of its object.
extern "C" __attribute__((import_module("hf_bpe"), import_name("fail"))) void fail(const char* message);

extern "C" void* __cxa_allocate_exception(std::size_t size) noexcept {
  void* const memory = std::malloc(size);
  if (memory == nullptr) fail("no memory");
  return memory;
}
extern "C" [[noreturn]] void __cxa_throw(void* thrown, std::type_info*, void (*)(void*)) {
  fail(static_cast<std::exception*>(thrown)->what());
  __builtin_trap();
}
