// Python bindings of encoding and decoding.
#include <nanobind/stl/tuple.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <string_view>
#include <unordered_set>

#include "bindings/arrays.hpp"
#include "bindings/encoder_arguments.hpp"
#include "bindings/int_lists.hpp"
#include "bindings/prefix_cache.hpp"
#include "bindings/python.hpp"
#include "bindings/row_results.hpp"
#include "bindings/rows.hpp"
#include "encode/decoder.hpp"
#include "encode/encoder.hpp"
#include "merge/characters.hpp"

namespace hf_bpe {
namespace {

using ByteStrings = Typed<nb::list, "list[bytes]">;
using AnyText = Typed<nb::object, "AnyText">;
using Texts = Typed<nb::list, "list[AnyText]">;
using IdList = Typed<nb::list, "list[int]">;
using IdLists = Typed<nb::list, "list[list[int]]">;
using Encoded = Typed<nb::tuple, "tuple[Ids, Numbers]">;
using GivenModel = Typed<nb::object, "BPEModel">;
using GivenOptions = Typed<nb::tuple, "Options">;
using GivenPadding = Typed<nb::object, "Padding">;
using GivenLimit = Typed<nb::object, "tuple[int, bool] | None">;
using GivenTemplate = Typed<nb::object, "TemplateIds">;

// In bytes. Two threads that hand over the GIL for each of many shorter texts take longer than one: waking the other
// costs more than encoding.
constexpr std::ptrdiff_t kShort = 1 << 12;

// Releases the GIL while texts are encoded, unless they are short.
class GilReleased {
 public:
  explicit GilReleased(const std::vector<Text>& texts) {
    std::ptrdiff_t size = 0;
    for (const Text& text : texts) {
      size += text.end - text.begin;
      if (size > kShort) {
        no_gil_.emplace();
        return;
      }
    }
  }

 private:
  std::optional<NoGil> no_gil_;
};

class PyEncoder {
 public:
  PyEncoder(const GivenModel& model, const Typed<nb::object, "Callable[..., object]">& rebuild,
            const Typed<nb::dict, "dict[int, bytes]">& vocab, const Merges& merges, const GivenPattern& pattern,
            const std::optional<ByteStrings>& excluded_tokens, bool drop_missing_bytes,
            const std::optional<nb::bytes>& merge_ids, const std::optional<std::string>& simd, std::size_t chunk_bytes)
      : PyEncoder(model, rebuild, Tokens(vocab), merges, merge_ids, pattern_of(pattern.value), excluded_tokens,
                  drop_missing_bytes, simd_of(simd), chunk_bytes) {}

  // With an alphabet of characters.
  PyEncoder(const GivenModel& model, const Typed<nb::object, "Callable[..., object]">& rebuild,
            const Typed<nb::dict, "dict[int, bytes]">& vocab, const nb::bytes& merge_ids, const nb::bytes& byte_ids,
            const nb::bytes& excluded, unsigned prefix, bool splits, std::optional<std::uint32_t> unknown_id,
            bool fuses_unknown, bool keeps_spaces, const std::optional<std::string>& simd, std::size_t chunk_bytes)
      : PyEncoder(model, rebuild, Tokens(vocab), merge_ids, numbers_of(byte_ids), numbers_of(excluded),
                  {prefix_space_of(prefix), splits, unknown_id, fuses_unknown, keeps_spaces}, simd_of(simd),
                  chunk_bytes) {}

  PyEncoder with_added_tokens(const Typed<nb::tuple, "tuple[AddedTokenTuple, ...]">& tokens) const {
    PyEncoder other(*this);
    const std::vector<AddedToken> added = added_tokens(tokens);
    Decoder::Tokens decoded;
    for (const AddedToken& token : added) decoded.emplace_back(token.id, token.content);
    other.decoder_.add(decoded);
    other.encoder_ = encoder_.with_added_tokens(added);
    other.added_ = tokens;
    return other;
  }

  PyEncoder with_prefix_cache(const PyPrefixCache& cache) const {
    PyEncoder other(*this);
    other.encoder_ = encoder_.with_prefix_cache(cache.cache);
    return other;
  }

  PyEncoder refusing_changes() const {
    PyEncoder other(*this);
    other.encoder_ = encoder_.refusing_changes();
    return other;
  }

  // For a model with the same ids for every text.
  PyEncoder with_model(const GivenModel& model) const {
    PyEncoder other(*this);
    other.model_ = model;
    return other;
  }

  Typed<nb::tuple, "tuple[object, ...]"> reduce() const {
    return nb::make_tuple(rebuild_, nb::make_tuple(model_, added_));
  }
  GivenModel model() const { return model_; }
  bool lacks_bytes() const { return encoder_.lacks_bytes(); }

  IdList encode(const AnyText& text, const GivenOptions& given) const {
    static const Around kNothing;
    const HeldTexts held(text.value, how(given));
    return list_of(held, options_of(given, 1), kNothing).first;
  }

  // The special tokens of a template.
  struct Around {
    Ids before, after;  // the ids of a text
  };

  // The ids of the only text, and whether they begin with the token that the template puts first.
  std::pair<nb::list, bool> list_of(const HeldTexts& held, const EncodingOptions& options, const Around& around) const {
    const auto& [before, after] = around;
    bool is_double = false;
    const auto write = [&](const nb::list& list, const IdBuffer& ids) {
      is_double = !before.empty() && ids.size() != 0 && *ids.begin() == before[0];
      ListWriter writer(list, before.size() + ids.size() + after.size());
      writer.add(*ints_, before.data(), before.size());
      writer.add(*ints_, ids.begin(), ids.size());
      writer.add(*ints_, after.data(), after.size());
    };
    const Text& only = held.texts[0];
    const std::ptrdiff_t size = only.end - only.begin;
    if (size > kShort || encoder_.uses_prefix_cache(options, static_cast<std::size_t>(size))) {
      const Encoder::Encoded encoded = run(held, options);
      nb::list list;
      write(list, encoded.ids);
      return {std::move(list), is_double};
    }
    encoder_.check_nfc(only);
    nb::list list;
    encoder_.encode_short(only, options, [&](const IdBuffer& ids) { write(list, ids); }, kCheckSignals);
    return {std::move(list), is_double};
  }

  // Texts that are looked up are converted to UTF-8 by the core, however long they are.
  HeldTexts::Options how(const nb::tuple& options) const {
    HeldTexts::Options how = this->how();
    if (!encoder_.has_prefix_cache()) return how;
    const bool is_random = options.size() > 3 && !options[3].is_none();
    if (!is_random && encoder_.uses_prefix_cache(options_of(options, 0))) {
      how.max_wide_bytes = static_cast<std::size_t>(-1);
    }
    return how;
  }
  HeldTexts::Options how() const { return {.repairs_surrogates = true, .max_wide_bytes = encoder_.max_wide_bytes()}; }

  IdLists encode_batch(const Texts& texts, const GivenOptions& options, unsigned threads) const {
    const HeldTexts held(texts, how(options));
    return lists(held, options_of(options, held.texts.size(), threads));
  }

  Encoded encode_to_numpy(const Texts& texts, const GivenOptions& options, unsigned threads) const {
    const HeldTexts held(texts, how(options));
    Encoder::Encoded encoded = run(held, options_of(options, held.texts.size(), threads));
    const std::size_t size = encoded.ids.size();
    return nb::make_tuple(to_array(encoded.ids.release(), {size}), to_array(encoded.offsets));
  }

  // Whoever has the buffer may change it meanwhile, so what is read of it is copied; that takes a hundredth of the
  // time.
  Encoded encode_utf8(const nb::object& data, const GivenNumbers& begins, const GivenNumbers& ends,
                      const GivenOptions& given, unsigned threads) const {
    const std::vector<std::int64_t> starts = numbers_in(begins, "begins"), stops = numbers_in(ends, "ends");
    if (starts.size() != stops.size()) throw nb::value_error("begins, ends: expected one of each for a text");
    const EncodingOptions options = options_of(given, starts.size(), threads);
    const CopiedSpan copied(data, starts, stops);
    std::vector<Text> texts;
    texts.reserve(starts.size());
    for (std::size_t i = 0; i < starts.size(); ++i) texts.push_back({copied.at(starts[i]), copied.at(stops[i])});
    Encoder::Encoded encoded;
    {
      Poll poll{nb::none()};
      const GilReleased no_gil(texts);
      encoded = encoder_.encode(texts, options, std::ref(poll));
    }
    const std::size_t size = encoded.ids.size();
    return nb::make_tuple(to_array(encoded.ids.release(), {size}), to_array(encoded.offsets));
  }

  Typed<nb::tuple, "tuple[Ids, Numbers, Numbers]"> encode_with_offsets(const Texts& texts,
                                                                       const GivenOptions& given) const {
    HeldTexts::Options how = this->how();
    how.max_wide_bytes = static_cast<std::size_t>(-1);  // with offsets, texts of any length are converted
    const HeldTexts held(texts, how);
    const EncodingOptions options = options_of(given, held.texts.size());
    Encoder::EncodedWithOffsets encoded;
    {
      Poll poll{nb::none()};
      const GilReleased no_gil(held.texts);
      encoded = encoder_.encode_with_offsets(held.texts, options, decoder_, std::ref(poll));
    }
    const std::size_t size = encoded.token_offsets.size();
    auto offsets = make_array<std::int64_t>(3 * size);
    static_assert(sizeof(TokenOffsets) == 3 * sizeof(std::int64_t));
    if (size != 0) std::memcpy(offsets.get(), encoded.token_offsets.data(), size * sizeof(TokenOffsets));
    return nb::make_tuple(to_array(encoded.ids.release(), {size}), to_array(encoded.offsets),
                          to_array(offsets.release(), {size, 3}));
  }

  Typed<nb::tuple, "tuple[list[list[int]], list[list[int]]]"> rows_to_lists(const GivenIds& ids,
                                                                            const GivenNumbers& spans,
                                                                            const GivenTemplate& template_ids,
                                                                            const GivenPadding& padding) const {
    const auto [wanted, pad_id, is_left] = padding_of(padding.value).value_or(Padding(0, 0, false));
    const Rows rows = rows_of(ids, spans, template_ids);
    return lists_of(*ints_, rows, wanted.value_or(rows.longest()), pad_id, is_left);
  }

  Typed<nb::tuple, "tuple[Numbers, Numbers]"> rows_to_arrays(const GivenIds& ids, const GivenNumbers& spans,
                                                             const GivenTemplate& template_ids,
                                                             const GivenPadding& padding) const {
    const auto [wanted, pad_id, is_left] =
        values_of<Padding>(padding.value, "padding: expected (length or None, id, bool)");
    const Rows rows = rows_of(ids, spans, template_ids);
    const std::size_t longest = rows.longest(), length = wanted.value_or(longest);
    if (longest > length) throw nb::value_error("padding: expected a length that no row exceeds");
    return arrays_of(rows, length, pad_id, is_left);
  }

  Typed<nb::tuple, "tuple[list[list[int]], list[list[int]]]"> encode_to_rows(
      const Texts& texts, const GivenOptions& options, unsigned threads, const GivenTemplate& template_ids,
      const GivenLimit& limit, const GivenPadding& padding) const {
    const auto [wanted, pad_id, is_left] = padding_of(padding.value).value_or(Padding(0, 0, false));
    const TextRows of_texts = encoded_rows(texts, options, threads, template_ids, limit);
    const Rows& rows = of_texts.rows;
    return lists_of(*ints_, rows, wanted.value_or(rows.longest()), pad_id, is_left);
  }

  Typed<nb::object, "tuple[Numbers, Numbers] | None"> encode_to_row_arrays(
      const Texts& texts, const GivenOptions& options, unsigned threads, const GivenTemplate& template_ids,
      const GivenLimit& limit, const GivenPadding& padding) const {
    const std::optional<Padding> padded = padding_of(padding.value);
    const auto [wanted, pad_id, is_left] = padded.value_or(Padding({}, 0, false));
    const TextRows of_texts = encoded_rows(texts, options, threads, template_ids, limit);
    const Rows& rows = of_texts.rows;
    const std::size_t longest = rows.longest(), length = wanted.value_or(longest);
    if (longest > length || !(padded || rows.are_all_of(length))) return nb::none();
    return nb::object(arrays_of(rows, length, pad_id, is_left));
  }

  std::vector<std::int64_t> count_tokens(const Texts& texts, const GivenOptions& given, unsigned threads) const {
    const HeldTexts held(texts, how());
    const EncodingOptions options = options_of(given, held.texts.size(), threads);
    Poll poll{nb::none()};
    const GilReleased no_gil(held.texts);
    return encoder_.count(held.texts, options, std::ref(poll));
  }

  Encoded merge_words(const ByteStrings& words, std::uint32_t unknown_id) const {
    const Held held = items_of(words.value, "words");
    std::vector<std::string_view> views;
    for (nb::handle word : held) views.push_back(view_of(word, "words"));
    Encoder::Words merged;
    {
      Poll poll{nb::none()};
      const NoGil no_gil;  // bytes cannot change
      merged = encoder_.merge_words(views, unknown_id, [&] { poll(0); });
    }
    auto ids = make_array<std::uint32_t>(merged.ids.size());
    std::copy(merged.ids.begin(), merged.ids.end(), ids.get());
    return nb::make_tuple(to_array(ids.release(), {merged.ids.size()}), to_array(merged.offsets));
  }

  Typed<nb::object, "Numbers"> last_merges(const ByteStrings& words) const {
    const Held held = items_of(words.value, "words");
    std::vector<std::string_view> views;
    for (nb::handle word : held) views.push_back(view_of(word, "words"));
    std::vector<std::int64_t> ranks;
    {
      Poll poll{nb::none()};
      const NoGil no_gil;  // bytes cannot change
      ranks = encoder_.last_merges(views, [&] { poll(0); });
    }
    return to_array(ranks);
  }

  std::size_t find_last_cut(const nb::bytes& data, const GivenOptions& options) const {
    return encoder_.find_last_cut({bytes_of(data), bytes_of(data) + data.size()}, options_of(options, 1),
                                  kCheckSignals);
  }

  std::size_t known_characters(const AnyText& text, const GivenOptions& given) const {
    const EncodingOptions options = options_of(given, 1);
    const HeldTexts held(text.value, how(given));
    const NoGil no_gil;
    return encoder_.known_characters(held.texts[0], options);
  }

  nb::bytes decode(const Typed<nb::object, "Sequence[int]">& ids, const nb::bytes& skipped) const {
    Scratch scratch;
    const std::string_view bytes = decode_row(ids.value, view_of(skipped, "skipped"), scratch);
    return nb::bytes(bytes.data(), bytes.size());
  }

  Typed<nb::list, "list[str]"> decode_batch(const Typed<nb::list, "list[Sequence[int]]">& rows,
                                            const nb::bytes& skipped, const std::string& errors) const {
    nb::list texts;
    Scratch scratch;
    for (nb::handle row : items_of(rows.value, "rows")) {
      texts.append(text_of(decode_row(row, view_of(skipped, "skipped"), scratch), errors));
    }
    return texts;
  }

  nb::str decode_text(const Typed<nb::object, "Sequence[int]">& ids, const nb::bytes& skipped,
                      const std::string& errors) const {
    Scratch scratch;
    return text_of(decode_row(ids.value, view_of(skipped, "skipped"), scratch), errors);
  }

 private:
  // A copy of the ids and bytes in a dict, whose objects may be anywhere in memory.
  class Tokens {
   public:
    explicit Tokens(const nb::dict& dict) {
      if (!read_in_place(dict)) {
        items.clear();
        bytes_.clear();
        for (const auto& [key, value] : items_of(dict)) add(key, value);
      }
      for (std::size_t begin = 0; auto& [id, token] : items) {
        token = std::string_view(bytes_).substr(begin, token.size());
        begin += token.size();
      }
    }
    Tokens(const Tokens&) = delete;
    Tokens& operator=(const Tokens&) = delete;
    Vocabulary::Tokens items;

   private:
    // False for a key whose conversion may run Python code, which may change the dict.
    bool read_in_place(const nb::dict& dict) {
      const nb::ft_object_guard lock(dict);
      items.reserve(dict.size());
      PyObject *key, *value;
      for (Py_ssize_t at = 0; PyDict_Next(dict.ptr(), &at, &key, &value);) {
        if (!PyLong_CheckExact(key)) return false;
        add(key, value);
      }
      return true;
    }

    void add(nb::handle key, nb::handle value) {
      items.emplace_back(number_of<std::uint32_t>(key, "ids"), view_of(value, "tokens"));
      bytes_ += items.back().second;
    }

    std::string bytes_;
  };

  PyEncoder(nb::object model, nb::object rebuild, const Tokens& vocab, const nb::list& merges,
            const std::optional<nb::bytes>& merge_ids, Pattern pattern,
            const std::optional<ByteStrings>& excluded_tokens, bool drop_missing_bytes, Simd simd,
            std::size_t chunk_bytes)
      : model_(std::move(model)),
        rebuild_(std::move(rebuild)),
        encoder_(Vocabulary(vocab.items, merge_ids ? merges_by_id(vocab, *merge_ids) : merges_of(vocab, merges),
                            whole_words_of(vocab, excluded_tokens), drop_missing_bytes),
                 pattern, simd, chunk_bytes),
        decoder_(decoder_of(vocab)),
        ints_(std::make_shared<Ints>(decoder_.ids())) {}

  // Rows of one text each. The ids stay where they are when this is moved.
  struct TextRows {
    Encoder::Encoded encoded;
    Rows rows;
  };

  TextRows encoded_rows(const Texts& texts, const GivenOptions& options, unsigned threads,
                        const GivenTemplate& template_ids, const GivenLimit& limit) const {
    std::vector<Ids> special = special_ids_of(template_ids.value);
    const Limit cut = limit_of(limit.value, special);
    const HeldTexts held(texts, how(options));
    Encoder::Encoded encoded = run(held, options_of(options, held.texts.size(), threads));
    Rows rows(encoded.ids.begin(), encoded.ids.size(), cut.spans(encoded.offsets), std::move(special));
    return {std::move(encoded), std::move(rows)};
  }

  PyEncoder(nb::object model, nb::object rebuild, const Tokens& vocab, const nb::bytes& merge_ids,
            const std::vector<std::uint32_t>& byte_ids, const std::vector<std::uint32_t>& excluded,
            const CharacterRules& rules, Simd simd, std::size_t chunk_bytes)
      : PyEncoder(std::move(model), std::move(rebuild), vocab,
                  CharacterVocabulary(vocab.items, merges_by_id(vocab, merge_ids), byte_ids, excluded), rules, simd,
                  chunk_bytes) {}

  PyEncoder(nb::object model, nb::object rebuild, const Tokens& vocab, const CharacterVocabulary& characters,
            const CharacterRules& rules, Simd simd, std::size_t chunk_bytes)
      : model_(std::move(model)),
        rebuild_(std::move(rebuild)),
        encoder_(characters.vocabulary(),
                 Pattern(std::make_shared<const CharacterCuts>(characters.made(), characters.characters(), rules)),
                 simd, chunk_bytes),
        decoder_(decoder_of(vocab)),
        ints_(std::make_shared<Ints>(decoder_.ids())) {}

  static std::vector<std::uint32_t> numbers_of(const nb::bytes& given) {
    if (given.size() % sizeof(std::uint32_t) != 0) throw nb::value_error("expected uint32 in bytes");
    std::vector<std::uint32_t> numbers(given.size() / sizeof(std::uint32_t));
    if (!numbers.empty()) std::memcpy(numbers.data(), given.c_str(), given.size());
    return numbers;
  }

  static PrefixSpace prefix_space_of(unsigned number) {
    if (number > static_cast<unsigned>(PrefixSpace::kFirstUnlessSpace))
      throw nb::value_error("prefix: expected 0 to 3");
    return static_cast<PrefixSpace>(number);
  }

  static std::vector<Vocabulary::Merge> merges_of(const Tokens& vocab, const nb::list& merges) {
    const Held held = items_of(merges, "merges");
    std::vector<std::pair<std::string_view, std::string_view>> pairs;
    pairs.reserve(held.size());
    for (nb::handle merge : held) {  // tuples keep their bytes alive
      if (!PyTuple_Check(merge.ptr()) || PyTuple_GET_SIZE(merge.ptr()) != 2)
        throw nb::type_error("merges: expected pairs");
      pairs.emplace_back(view_of(PyTuple_GET_ITEM(merge.ptr(), 0), "merges"),
                         view_of(PyTuple_GET_ITEM(merge.ptr(), 1), "merges"));
    }
    return Vocabulary::find_tokens(vocab.items, pairs);
  }

  // All tokens but some; none without a list.
  static Vocabulary::Tokens whole_words_of(const Tokens& vocab, const std::optional<ByteStrings>& excluded_tokens) {
    Vocabulary::Tokens words;
    if (!excluded_tokens) return words;
    const Held held = items_of(excluded_tokens->value, "excluded_tokens");
    std::unordered_set<std::string_view> excluded;
    std::set<std::size_t> sizes;  // of few tokens
    for (nb::handle token : held) {
      excluded.insert(view_of(token, "excluded_tokens"));
      sizes.insert(view_of(token, "excluded_tokens").size());
    }
    words.reserve(vocab.items.size());
    for (const auto& item : vocab.items) {
      if (!sizes.contains(item.second.size()) || !excluded.contains(item.second)) words.push_back(item);
    }
    return words;
  }

  // The merges of ids in 32 bits, three for each merge: both parts and the result.
  static std::vector<Vocabulary::Merge> merges_by_id(const Tokens& vocab, const nb::bytes& merge_ids) {
    constexpr std::uint32_t kMaxId = (1 << 21) - 1, kNone = 0xFFFFFFFF;
    std::vector<std::uint32_t> places;  // by id
    bool are_ids = true;                // whether every place is its id
    for (std::uint32_t place = 0; place < vocab.items.size(); ++place) {
      const std::uint32_t id = vocab.items[place].first;
      if (id > kMaxId) throw nb::value_error("merge_ids: expected ids below 2**21");
      if (id >= places.size()) places.resize(std::size_t{id} + 1, kNone);
      places[id] = place;
      are_ids &= id == place;
    }
    if (merge_ids.size() % sizeof(Vocabulary::Merge) != 0) throw nb::value_error("merge_ids: expected three a merge");
    std::vector<Vocabulary::Merge> merges(merge_ids.size() / sizeof(Vocabulary::Merge));
    if (!merges.empty()) std::memcpy(merges.data(), merge_ids.c_str(), merge_ids.size());
    if (are_ids) return merges;  // the vocabulary refuses others
    for (auto& [first, second, result] : merges) {
      for (std::uint32_t* id : {&first, &second, &result}) {
        if (*id >= places.size() || places[*id] == kNone) throw nb::value_error("merge_ids: an id of no token");
        *id = places[*id];
      }
    }
    return merges;
  }

  static Decoder decoder_of(const Tokens& vocab) {
    Decoder decoder;
    decoder.add(vocab.items);
    return decoder;
  }

  Encoder::Encoded run(const HeldTexts& held, const EncodingOptions& options) const {
    Poll poll{nb::none()};
    const GilReleased no_gil(held.texts);
    return encoder_.encode(held.texts, options, std::ref(poll));
  }

  nb::list lists(const HeldTexts& held, const EncodingOptions& options) const {
    const Encoder::Encoded encoded = run(held, options);
    const nb::list lists = make_lists(held.texts.size());
    PollInLoop polls(kCheckSignals);
    for (std::size_t i = 0; i < held.texts.size(); ++i) {
      const auto size = static_cast<std::size_t>(encoded.offsets[i + 1] - encoded.offsets[i]);
      polls(size);
      ListWriter(lists[i], size).add(*ints_, encoded.ids.begin() + encoded.offsets[i], size);
    }
    return lists;
  }

  struct Scratch {
    Ids ids;
    std::string bytes;
  };

  static nb::str text_of(std::string_view bytes, const std::string& errors) {
    PyObject* text = PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), errors.c_str());
    if (text == nullptr) throw nb::python_error();
    return nb::steal<nb::str>(text);
  }

  // The bytes of a row, in `scratch`.
  std::string_view decode_row(nb::handle row, std::string_view skipped, Scratch& scratch) const {
    const nb::object sequence = nb::steal(PySequence_Fast(row.ptr(), "ids: expected a sequence of int"));
    if (!sequence.is_valid()) throw nb::python_error();
    Ids& ids = scratch.ids;
    if (!read_in_place(sequence, ids)) {
      ids.clear();
      for (nb::handle item : items_of(sequence, "ids")) ids.push_back(id_of(item));
    }
    std::string& bytes = scratch.bytes;
    bytes.clear();
    const std::size_t size = ids.size();
    if (const std::size_t done = decoder_.decode(ids.data(), size, skipped, bytes, kCheckSignals); done != size) {
      const Held now = items_of(sequence, "ids");  // a signal handler or a thread may have changed the list
      PyErr_SetObject(PyExc_KeyError, done < now.size() ? now[done].ptr() : Py_None);
      throw nb::python_error();
    }
    return bytes;
  }

  // False if an id is no int: others are converted by `__index__`, which may change the sequence.
  static bool read_in_place(nb::handle sequence, Ids& ids) {
    const nb::ft_object_guard lock(sequence);
    const auto size = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(sequence.ptr()));
    PyObject* const* const items = PySequence_Fast_ITEMS(sequence.ptr());
    if (!std::all_of(items, items + size, [](PyObject* item) { return PyLong_Check(item); })) return false;
    ids.resize(size);
    for (std::size_t i = 0; i < size; ++i) ids[i] = id_of(items[i]);
    return true;
  }

  // One that no token has if it is not within 32 bits.
  static std::uint32_t id_of(nb::handle item) {
    int overflow;
    const long long id = PyLong_AsLongLongAndOverflow(item.ptr(), &overflow);
    if (id == -1 && PyErr_Occurred()) throw nb::python_error();
    return overflow != 0 || id < 0 || id > 0xFFFFFFFF ? 0xFFFFFFFF : static_cast<std::uint32_t>(id);
  }

  nb::object model_, rebuild_;
  nb::tuple added_;
  Encoder encoder_;
  Decoder decoder_;
  std::shared_ptr<const Ints> ints_;
};

// Encodes one text at a time. What does not depend on the text is converted before, and threads that share it count
// few references to the same objects, for which they would wait for each other without a GIL.
class PyTextEncoder {
 public:
  PyTextEncoder(const PyEncoder& encoder, const GivenOptions& found, const GivenOptions& as_text,
                const GivenTemplate& template_ids, nb::object on_double_start)
      : encoder_(encoder),
        ways_{Way{options_of(found, 1), encoder.how(found)}, Way{options_of(as_text, 1), encoder.how(as_text)}},
        on_double_start_(std::move(on_double_start)) {
    std::vector<Ids> special = special_ids_of(template_ids.value);
    if (special.size() != 2) throw nb::value_error("template_ids: expected those before a text and after it");
    template_ = {std::move(special[0]), std::move(special[1])};
  }

  nb::list encode(nb::handle text, nb::handle split_special_tokens, nb::handle add_special_tokens) const {
    const auto& [options, how] = ways_[is_true(split_special_tokens) ? 1 : 0];
    const bool adds = is_true(add_special_tokens);
    auto [ids, is_double] = encoder_.list_of(HeldTexts(nb::borrow(text), how), options, adds ? template_ : nothing_);
    if (is_double && !on_double_start_.is_none()) on_double_start_();
    return ids;
  }

 private:
  struct Way {
    EncodingOptions options;
    HeldTexts::Options how;
  };

  static bool is_true(nb::handle object) {
    const int truth = PyObject_IsTrue(object.ptr());
    if (truth < 0) throw nb::python_error();
    return truth == 1;
  }

  PyEncoder encoder_;
  std::array<Way, 2> ways_;
  nb::object on_double_start_;
  PyEncoder::Around template_;
  const PyEncoder::Around nothing_;
};

void translate(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const MissingByte& missing) {
    char message[80];
    std::snprintf(message, sizeof message, "the vocabulary has no token for the byte 0x%02X of the text; set unk_token",
                  missing.byte);
    PyErr_SetString(PyExc_ValueError, message);
  }
}

}  // namespace

void bind_encoder(nb::module_& module) {
  nb::register_exception_translator(&translate);
  nb::exception<MayNotBeNfc>(module, "MayNotBeNfc", PyExc_ValueError);

  nb::class_<PyTextEncoder>(module, "TextEncoder", "What `Encoder.text_encoder` returns a method of.")
      .def("encode", &PyTextEncoder::encode, "text"_a.none(), "split_special_tokens"_a, "add_special_tokens"_a,
           nb::sig("def encode(self, text: AnyText, split_special_tokens: bool, add_special_tokens: bool) "
                   "-> list[int]"));

  nb::class_<PyEncoder>(module, "Encoder", nb::is_weak_referenceable(),
                        R"(The native `hf_bpe.encoding._encoder.Encoder`, where every method is described.

Several threads may use it at once. Each that does holds a cache of pre-tokens, of about 64 MB at most, that waits
for the next call; a process may be forked at any time. No thread outlives a call.

Args:
    model: what `model` returns.
    rebuild: what pickle calls, with the model and the added tokens.
    vocab: that of the model: ids below 2**31, of which the highest decides how much memory decoding takes.
    merges: those of the model; there must be fewer than 2**22 merges and about 2**21 tokens.
    pattern: the name of a pattern that is built in, a chain, or None for no pre-tokenization.
    excluded_tokens: the tokens that are not looked up as whole pre-tokens before merging; None to look up none.
    drop_missing_bytes: that of the model.
    merge_ids: the ids of the tokens of each merge (see `hf_bpe.core._model.CheckedMerges`), for which `merges` are
        not read; their bytes are compared.
    simd: one of `simd_names()`, None for the best; the result does not depend on it.
    chunk_bytes: what a thread takes at a time; the result does not depend on it.

Raises:
    ValueError: merges of what is not in the vocabulary, merges that are given twice, or too many of anything.
)")
      .def(nb::init<const GivenModel&, const Typed<nb::object, "Callable[..., object]">&,
                    const Typed<nb::dict, "dict[int, bytes]">&, const Merges&, const GivenPattern&,
                    const std::optional<ByteStrings>&, bool, const std::optional<nb::bytes>&,
                    const std::optional<std::string>&, std::size_t>(),
           "model"_a, "rebuild"_a, "vocab"_a, "merges"_a, "pattern"_a.none(), nb::kw_only(),
           "excluded_tokens"_a = nb::none(), "drop_missing_bytes"_a = false, "merge_ids"_a = nb::none(),
           "simd"_a = nb::none(), "chunk_bytes"_a = Encoder::kChunkBytes)
      .def_static(
          "of_characters",
          [](const GivenModel& model, const Typed<nb::object, "Callable[..., object]">& rebuild,
             const Typed<nb::dict, "dict[int, bytes]">& vocab, const nb::bytes& merge_ids, const nb::bytes& byte_ids,
             const nb::bytes& excluded, unsigned prefix, bool splits, std::optional<std::uint32_t> unknown_id,
             bool fuses_unknown, bool keeps_spaces, const std::optional<std::string>& simd, std::size_t chunk_bytes) {
            return PyEncoder(model, rebuild, vocab, merge_ids, byte_ids, excluded, prefix, splits, unknown_id,
                             fuses_unknown, keeps_spaces, simd, chunk_bytes);
          },
          "model"_a, "rebuild"_a, "vocab"_a, "merge_ids"_a, "byte_ids"_a, "excluded"_a, nb::kw_only(), "prefix"_a,
          "splits"_a, "unknown_id"_a.none(), "fuses_unknown"_a, "keeps_spaces"_a, "simd"_a = nb::none(),
          "chunk_bytes"_a = Encoder::kChunkBytes,
          R"(Return the encoder of a model whose alphabet is characters.

Args:
    model, rebuild, simd, chunk_bytes: as for an encoder of bytes.
    vocab: the bytes of text that each token stands for.
    merge_ids: the ids of the tokens of each merge.
    byte_ids: the ids of the tokens of all bytes, as uint32; 2**32 - 1 where the character is a token; or empty.
    excluded: the ids, as uint32, of tokens that are no text.
    prefix: before which segments of text a space is put: 0 none, 1 those that do not begin with one, 2 all, 3
        one at the beginning of a text that does not begin with one.
    splits: whether each space begins a pre-token.
    unknown_id: the id of characters without a token, without byte_ids.
    fuses_unknown: whether those side by side become one id.
    keeps_spaces: whether added tokens with normalized=True strip no spaces.
)")
      .def("with_added_tokens", &PyEncoder::with_added_tokens, "tokens"_a)
      .def("with_model", &PyEncoder::with_model, "model"_a)
      .def("with_prefix_cache", &PyEncoder::with_prefix_cache, "cache"_a,
           "Return an encoder that looks up beginnings of texts in a cache, and keeps them there.")
      .def("refusing_changes", &PyEncoder::refusing_changes,
           "Return one with the same cache that raises MayNotBeNfc for text that normalization to NFC may change.")
      .def("known_characters", &PyEncoder::known_characters, "text"_a, "options"_a,
           "Return how many characters of a text are surely those of one that was encoded before; 0 without a cache.")
      .def("__reduce__", &PyEncoder::reduce)
      .def_prop_ro("model", &PyEncoder::model)
      .def_prop_ro("lacks_bytes", &PyEncoder::lacks_bytes)
      // HeldTexts says what is wrong with None, as with any other object.
      .def("encode", &PyEncoder::encode, "text"_a.none(), "options"_a,
           nb::sig("def encode(self, text: AnyText, options: Options) -> list[int]"))
      .def(
          "text_encoder",
          [](const PyEncoder& self, const GivenOptions& found, const GivenOptions& as_text,
             const GivenTemplate& template_ids, nb::object on_double_start) {
            PyTextEncoder made(self, found, as_text, template_ids, std::move(on_double_start));
            return nb::object(nb::cast(std::move(made)).attr("encode"));
          },
          "found"_a, "as_text"_a, "template_ids"_a, "on_double_start"_a.none(),
          nb::sig("def text_encoder(self, found: Options, as_text: Options, template_ids: TemplateIds, "
                  "on_double_start: Callable[[], object] | None) -> Callable[[AnyText, bool, bool], list[int]]"))
      .def("encode_batch", &PyEncoder::encode_batch, "texts"_a, "options"_a, "threads"_a)
      .def("encode_to_numpy", &PyEncoder::encode_to_numpy, "texts"_a, "options"_a, "threads"_a)
      .def(
          "encode_utf8", &PyEncoder::encode_utf8, "data"_a, "begins"_a, "ends"_a, "options"_a, "threads"_a,
          nb::sig("def encode_utf8(self, data: Buffer, begins: Numbers, ends: Numbers, options: Options, threads: int) "
                  "-> tuple[Ids, Numbers]"))
      .def("encode_with_offsets", &PyEncoder::encode_with_offsets, "texts"_a, "options"_a)
      .def("rows_to_lists", &PyEncoder::rows_to_lists, "ids"_a, "spans"_a, "template_ids"_a, "padding"_a.none())
      .def("rows_to_arrays", &PyEncoder::rows_to_arrays, "ids"_a, "spans"_a, "template_ids"_a, "padding"_a)
      .def("encode_to_rows", &PyEncoder::encode_to_rows, "texts"_a, "options"_a, "threads"_a, "template_ids"_a,
           "limit"_a.none(), "padding"_a.none())
      .def("encode_to_row_arrays", &PyEncoder::encode_to_row_arrays, "texts"_a, "options"_a, "threads"_a,
           "template_ids"_a, "limit"_a.none(), "padding"_a.none())
      .def("count_tokens", &PyEncoder::count_tokens, "texts"_a, "options"_a, "threads"_a)
      .def("merge_words", &PyEncoder::merge_words, "words"_a, "unknown_id"_a)
      .def("last_merges", &PyEncoder::last_merges, "words"_a)
      .def("find_last_cut", &PyEncoder::find_last_cut, "data"_a, "options"_a)
      .def("decode", &PyEncoder::decode, "ids"_a, "skipped"_a)
      .def("decode_text", &PyEncoder::decode_text, "ids"_a, "skipped"_a, "errors"_a)
      .def("decode_batch", &PyEncoder::decode_batch, "rows"_a, "skipped"_a, "errors"_a);
}

}  // namespace hf_bpe
