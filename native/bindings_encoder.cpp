// What Python sees of encoding and decoding.
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "decoder.hpp"
#include "encoder.hpp"
#include "python.hpp"
#include "rows.hpp"

namespace hf_bpe {
namespace {

using Ids = std::vector<std::uint32_t>;

// An int object for each id, made once: what a list costs is then little more than its memory.
class Ints {
 public:
  explicit Ints(std::size_t size) : ints_(size) {
    for (std::size_t i = 0; i < size; ++i) ints_[i] = nb::int_(i);
  }
  nb::object list(const std::uint32_t* ids, std::size_t size) const {
    nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(size)));
    if (!list.is_valid()) throw nb::python_error();
    for (std::size_t i = 0; i < size; ++i) {
      // Those of tokens that were added later may be higher.
      nb::object id = ids[i] < ints_.size() ? ints_[ids[i]] : nb::object(nb::int_(ids[i]));
      PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i), id.release().ptr());
    }
    return list;
  }

 private:
  std::vector<nb::object> ints_;
};

template <class T>
nb::object to_array(T* data, std::vector<std::size_t> shape) {
  const nb::capsule owner(data, [](void* memory) noexcept { std::free(memory); });
  return nb::cast(nb::ndarray<nb::numpy, T>(data, shape.size(), shape.data(), owner));
}

// An array that is to be filled, of `size` numbers.
template <class T>
std::unique_ptr<T, decltype(&std::free)> make_array(std::size_t size) {
  std::unique_ptr<T, decltype(&std::free)> array(static_cast<T*>(std::malloc(std::max<std::size_t>(size, 1) * sizeof(T))),
                                                 &std::free);
  if (!array) throw std::bad_alloc();
  return array;
}

nb::object to_array(const std::vector<std::int64_t>& numbers) {
  auto array = make_array<std::int64_t>(numbers.size());
  std::copy(numbers.begin(), numbers.end(), array.get());
  return to_array(array.release(), {numbers.size()});
}

std::vector<AddedToken> added_tokens(nb::handle tokens) {
  std::vector<AddedToken> added;
  for (nb::handle object : nb::borrow<nb::object>(tokens)) {
    const auto [content, id, special, normalized, lstrip, rstrip, single_word] =
        nb::cast<std::tuple<std::string, std::uint32_t, bool, bool, bool, bool, bool>>(object);
    added.push_back({content, id, special, normalized, lstrip, rstrip, single_word});
  }
  return added;
}

// As hf_bpe.encoding has them.
using Options = std::tuple<bool, bool, std::optional<std::uint32_t>>;
using PyPadding = std::tuple<std::optional<std::size_t>, std::int64_t, bool>;
using IdArray = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using SpanArray = nb::ndarray<const std::int64_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

Rows rows_of(const IdArray& ids, const SpanArray& spans, const std::vector<Ids>& around) {
  if (around.empty() || spans.shape(1) != around.size() - 1 || spans.shape(2) != 2) {
    throw nb::value_error("spans: expected the shape (rows, sequences, 2), and around one more than sequences");
  }
  return Rows(ids.data(), ids.size(), spans.data(), spans.shape(0), around);
}

EncodingOptions options_of(const Options& given, unsigned threads = 1) {
  EncodingOptions options;
  std::tie(options.split_special_tokens, options.add_prefix_space, options.unknown_id) = given;
  options.threads = threads;
  return options;
}

class PyEncoder {
 public:
  PyEncoder(nb::object model, nb::object rebuild, nb::dict vocab, nb::list merges, std::optional<std::string> pattern,
            nb::dict whole_words, std::optional<std::string> simd, std::size_t chunk_bytes)
      : model_(std::move(model)),
        rebuild_(std::move(rebuild)),
        encoder_(vocabulary(vocab, merges, whole_words), pattern_of(pattern), simd_of(simd), chunk_bytes),
        decoder_(tokens_of(vocab)),
        ints_(std::make_shared<Ints>(decoder_.ids())) {}

  PyEncoder with_added_tokens(nb::tuple tokens) const {
    PyEncoder other(*this);
    const std::vector<AddedToken> added = added_tokens(tokens);
    std::vector<Decoder::Token> decoded;
    for (const AddedToken& token : added) decoded.push_back({token.id, token.content});
    other.decoder_.add(decoded);
    other.encoder_ = encoder_.with_added_tokens(added);
    other.added_ = std::move(tokens);
    return other;
  }

  nb::object reduce() const { return nb::make_tuple(rebuild_, nb::make_tuple(model_, added_)); }
  nb::object model() const { return model_; }
  bool lacks_bytes() const { return encoder_.lacks_bytes(); }

  nb::object encode(nb::handle text, const Options& given) const {
    const EncodingOptions options = options_of(given);
    BorrowedTexts borrowed(how());
    borrowed.add(text);
    const Text& only = borrowed.texts[0];
    if (only.end - only.begin > kShort) return lists(borrowed, options)[0];
    nb::object list;
    encoder_.encode_short(only, options, [&](const IdBuffer& ids) { list = ints_->list(ids.begin(), ids.size()); });
    return list;
  }

  nb::list encode_batch(nb::list texts, const Options& options, unsigned threads) const {
    return lists(BorrowedTexts(texts, how()), options_of(options, threads));
  }

  nb::object encode_to_numpy(nb::list texts, const Options& options, unsigned threads) const {
    Encoder::Encoded encoded = run(BorrowedTexts(texts, how()), options_of(options, threads));
    const std::size_t size = encoded.ids.size();
    return nb::make_tuple(to_array(encoded.ids.release(), {size}), to_array(encoded.offsets));
  }

  nb::object encode_with_places(nb::list texts, const Options& options) const {
    BorrowedTexts::Options how = this->how();
    how.most_wide_bytes = static_cast<std::size_t>(-1);  // no text is too long to be converted where places are known
    const BorrowedTexts borrowed(texts, how);
    Encoder::Placed placed;
    {
      Poll poll{nb::none()};
      const nb::gil_scoped_release no_gil;
      placed = encoder_.encode_with_places(borrowed.texts, options_of(options), decoder_, std::ref(poll));
    }
    const std::size_t size = placed.places.size();
    auto places = make_array<std::int64_t>(3 * size);
    static_assert(sizeof(Place) == 3 * sizeof(std::int64_t));
    std::memcpy(places.get(), placed.places.data(), size * sizeof(Place));
    return nb::make_tuple(to_array(placed.ids.release(), {size}), to_array(placed.offsets),
                          to_array(places.release(), {size, 3}));
  }

  nb::list rows_to_lists(const IdArray& ids, const SpanArray& spans, const std::vector<Ids>& around) const {
    const Rows rows = rows_of(ids, spans, around);
    Ids row(rows.longest());
    nb::list lists;
    for (std::size_t i = 0; i < rows.count(); ++i) {
      rows.write(i, row.data());
      lists.append(ints_->list(row.data(), rows.length(i)));
    }
    return lists;
  }

  nb::object rows_to_arrays(const IdArray& ids, const SpanArray& spans, const std::vector<Ids>& around,
                            const PyPadding& padding) const {
    const Rows rows = rows_of(ids, spans, around);
    const auto [wanted, pad_id, is_left] = padding;
    const std::size_t longest = rows.longest(), length = wanted.value_or(longest);
    if (longest > length) throw nb::value_error("padding: expected a length that no row exceeds");
    if (rows.count() != 0 && length > static_cast<std::size_t>(-1) / 16 / rows.count()) throw std::bad_alloc();
    auto filled = make_array<std::int64_t>(rows.count() * length);
    auto mask = make_array<std::int64_t>(rows.count() * length);
    {
      const nb::gil_scoped_release no_gil;
      rows.write_padded(length, pad_id, is_left, filled.get(), mask.get());
    }
    return nb::make_tuple(to_array(filled.release(), {rows.count(), length}),
                          to_array(mask.release(), {rows.count(), length}));
  }

  std::vector<std::int64_t> count_tokens(nb::list texts, const Options& options, unsigned threads) const {
    const BorrowedTexts borrowed(texts, how());
    Poll poll{nb::none()};
    const nb::gil_scoped_release no_gil;
    return encoder_.count(borrowed.texts, options_of(options, threads), std::ref(poll));
  }

  std::size_t find_last_cut(nb::bytes data, const Options& options) const {
    return encoder_.find_last_cut({bytes_of(data), bytes_of(data) + data.size()}, options_of(options));
  }

  nb::bytes decode(nb::handle ids, nb::bytes skipped) const {
    const std::string bytes = decode_row(ids, view_of(skipped));
    return nb::bytes(bytes.data(), bytes.size());
  }

  nb::list decode_batch(nb::list rows, nb::bytes skipped, const std::string& errors) const {
    nb::list texts;
    for (nb::handle row : rows) {
      const std::string bytes = decode_row(row, view_of(skipped));
      const auto size = static_cast<Py_ssize_t>(bytes.size());
      nb::object text = nb::steal(PyUnicode_DecodeUTF8(bytes.data(), size, errors.c_str()));
      if (!text.is_valid()) throw nb::python_error();
      texts.append(text);
    }
    return texts;
  }

 private:
  BorrowedTexts::Options how() const {
    return {.repairs_surrogates = true, .most_wide_bytes = encoder_.most_wide_bytes()};
  }
  static constexpr std::ptrdiff_t kShort = 1 << 12;  // bytes, for which releasing the GIL is not worth its time

  static std::string_view view_of(nb::handle bytes) {
    if (!PyBytes_Check(bytes.ptr())) throw nb::type_error("expected bytes");
    return {PyBytes_AS_STRING(bytes.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
  }

  static Vocabulary::Tokens items_of(nb::dict vocab) {
    Vocabulary::Tokens items;
    for (const auto& [id, token] : vocab) items.emplace_back(nb::cast<std::uint32_t>(id), view_of(token));
    return items;
  }

  static Vocabulary vocabulary(nb::dict vocab, nb::list merges, nb::dict whole_words) {
    std::vector<std::pair<std::string_view, std::string_view>> pairs;
    pairs.reserve(merges.size());
    for (nb::handle merge : merges) {
      if (!PyTuple_Check(merge.ptr()) || PyTuple_GET_SIZE(merge.ptr()) != 2) throw nb::type_error("merges: expected pairs");
      pairs.emplace_back(view_of(PyTuple_GET_ITEM(merge.ptr(), 0)), view_of(PyTuple_GET_ITEM(merge.ptr(), 1)));
    }
    Vocabulary::Tokens words;
    for (const auto& [token, id] : whole_words) words.emplace_back(nb::cast<std::uint32_t>(id), view_of(token));
    return Vocabulary(items_of(vocab), pairs, words);
  }

  static Decoder tokens_of(nb::dict vocab) {
    std::vector<Decoder::Token> tokens;
    for (const auto& [id, bytes] : items_of(vocab)) tokens.push_back({id, bytes});
    Decoder decoder;
    decoder.add(tokens);
    return decoder;
  }

  Encoder::Encoded run(const BorrowedTexts& borrowed, const EncodingOptions& options) const {
    Poll poll{nb::none()};
    const nb::gil_scoped_release no_gil;
    return encoder_.encode(borrowed.texts, options, std::ref(poll));
  }

  nb::list lists(const BorrowedTexts& borrowed, const EncodingOptions& options) const {
    const Encoder::Encoded encoded = run(borrowed, options);
    nb::list lists;
    for (std::size_t i = 0; i + 1 < encoded.offsets.size(); ++i) {
      const auto size = static_cast<std::size_t>(encoded.offsets[i + 1] - encoded.offsets[i]);
      lists.append(ints_->list(encoded.ids.begin() + encoded.offsets[i], size));
    }
    return lists;
  }

  std::string decode_row(nb::handle row, std::string_view skipped) const {
    Ids ids;
    const nb::object sequence = nb::steal(PySequence_Fast(row.ptr(), "ids: expected a sequence of int"));
    if (!sequence.is_valid()) throw nb::python_error();
    const auto size = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(sequence.ptr()));
    PyObject** items = PySequence_Fast_ITEMS(sequence.ptr());
    ids.reserve(size);
    for (std::size_t i = 0; i < size; ++i) {
      int overflow;
      const long long id = PyLong_AsLongLongAndOverflow(items[i], &overflow);
      if (id == -1 && PyErr_Occurred()) throw nb::python_error();
      ids.push_back(overflow != 0 || id < 0 || id > 0xFFFFFFFF ? 0xFFFFFFFF : static_cast<std::uint32_t>(id));
    }
    std::string bytes;
    if (const std::size_t done = decoder_.decode(ids.data(), size, skipped, bytes); done != size) {
      PyErr_SetObject(PyExc_KeyError, items[done]);
      throw nb::python_error();
    }
    return bytes;
  }

  nb::object model_, rebuild_;
  nb::tuple added_;
  Encoder encoder_;
  Decoder decoder_;
  std::shared_ptr<const Ints> ints_;
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

  nb::class_<PyEncoder>(module, "Encoder")
      .def(nb::init<nb::object, nb::object, nb::dict, nb::list, std::optional<std::string>, nb::dict,
                    std::optional<std::string>, std::size_t>(),
           "model"_a, "rebuild"_a, "vocab"_a, "merges"_a, "pattern"_a.none(), nb::kw_only(),
           "whole_words"_a = nb::dict(), "simd"_a = nb::none(), "chunk_bytes"_a = Encoder::kChunkBytes)
      .def("with_added_tokens", &PyEncoder::with_added_tokens, "tokens"_a)
      .def("__reduce__", &PyEncoder::reduce)
      .def_prop_ro("model", &PyEncoder::model)
      .def_prop_ro("lacks_bytes", &PyEncoder::lacks_bytes)
      .def("encode", &PyEncoder::encode, "text"_a.none(), "options"_a)
      .def("encode_batch", &PyEncoder::encode_batch, "texts"_a, "options"_a, "threads"_a)
      .def("encode_to_numpy", &PyEncoder::encode_to_numpy, "texts"_a, "options"_a, "threads"_a)
      .def("encode_with_places", &PyEncoder::encode_with_places, "texts"_a, "options"_a)
      .def("rows_to_lists", &PyEncoder::rows_to_lists, "ids"_a, "spans"_a, "around"_a)
      .def("rows_to_arrays", &PyEncoder::rows_to_arrays, "ids"_a, "spans"_a, "around"_a, "padding"_a)
      .def("count_tokens", &PyEncoder::count_tokens, "texts"_a, "options"_a, "threads"_a)
      .def("find_last_cut", &PyEncoder::find_last_cut, "data"_a, "options"_a)
      .def("decode", &PyEncoder::decode, "ids"_a, "skipped"_a)
      .def("decode_batch", &PyEncoder::decode_batch, "rows"_a, "skipped"_a, "errors"_a);
}

}  // namespace hf_bpe
