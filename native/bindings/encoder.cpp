// Python bindings of encoding and decoding.
#include <array>
#include <cstdio>

#include "bindings/py_encoder.hpp"

namespace hf_bpe {
namespace {

// Encodes one text at a time. What does not depend on the text is converted before, and threads that share it count
// few references to the same objects, for which they would wait for each other without a GIL.
class PyTextEncoder {
 public:
  PyTextEncoder(const PyEncoder& encoder, const GivenOptions& usual, const GivenOptions& as_text,
                const GivenTemplate& template_ids, nb::object on_double_start)
      : encoder_(encoder),
        ways_{Way{options_of(usual, 1), encoder.how(usual)}, Way{options_of(as_text, 1), encoder.how(as_text)}},
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

  using Fields = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t, std::size_t, std::size_t, std::size_t>;
  nb::class_<PrefixCache>(module, "PrefixCache",
                          R"(The store of `hf_bpe.encoding.PrefixCache`, which encoders share by `with_prefix_cache`.

Several threads may use it at once, and a process may be forked at any time.

Args:
    max_bytes: the most memory that it takes.
)")
      .def(nb::init<std::size_t>(), "max_bytes"_a)
      .def_prop_ro("max_bytes", &PrefixCache::max_bytes)
      .def(
          "statistics",
          [](const PrefixCache& self) -> Fields {
            const PrefixCache::Statistics all = self.statistics();
            return {all.texts,      all.hits,   all.text_bytes,    all.reused_bytes,
                    all.size_bytes, all.blocks, all.evicted_blocks};
          },
          "Return the fields of `hf_bpe.encoding.PrefixCacheStatistics`.")
      .def("clear", &PrefixCache::clear, "Drop all texts, and the statistics.");

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
    merge_ids: the `hf_bpe.core._arrays.MergeIds` of the model, whose bytes are compared; there must be fewer than
        2**22 merges and about 2**21 tokens.
    pattern: the name of a pattern that is built in, a chain, or None for no pre-tokenization.
    excluded_tokens: the tokens that are not looked up as whole pre-tokens before merging; None to look up none.
    drop_missing_bytes: that of the model.
    simd: one of `simd_names()`, None for the best; the result does not depend on it.
    chunk_bytes: what a thread takes at a time; the result does not depend on it.

Raises:
    ValueError: merges of what is not in the vocabulary, merges that are given twice, or too many of anything.
)")
      .def(nb::init<const GivenModel&, const Rebuild&, const TokenArrays&, const nb::bytes&, const GivenPattern&,
                    const std::optional<ByteStrings>&, bool, const std::optional<std::string>&, std::size_t>(),
           "model"_a, "rebuild"_a, "vocab"_a, "merge_ids"_a, "pattern"_a.none(), nb::kw_only(),
           "excluded_tokens"_a = nb::none(), "drop_missing_bytes"_a = false, "simd"_a = nb::none(),
           "chunk_bytes"_a = Encoder::kChunkBytes)
      .def_static("of_characters", &PyEncoder::of_characters, "model"_a, "rebuild"_a, "vocab"_a, "merge_ids"_a,
                  "byte_ids"_a, "space"_a, nb::kw_only(), "prefix"_a, "splits"_a, "unknown_id"_a.none(),
                  "fuses_unknown"_a, "keeps_spaces"_a, "simd"_a = nb::none(), "chunk_bytes"_a = Encoder::kChunkBytes,
                  R"(Return the encoder of a model whose alphabet is characters.

Args:
    model, rebuild, vocab, simd, chunk_bytes: as for an encoder of bytes.
    merge_ids: the ids of the tokens of each merge.
    byte_ids: the ids of the tokens of all bytes, as uint32; 2**32 - 1 where the character is a token; or empty.
    space: what the model writes in place of spaces, so that tokens with a space are no text; or empty.
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
      .def("without_prefix", &PyEncoder::without_prefix,
           "Return one of text that holds what a model of characters puts before segments.")
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
          [](const PyEncoder& self, const GivenOptions& usual, const GivenOptions& as_text,
             const GivenTemplate& template_ids, nb::object on_double_start) {
            PyTextEncoder made(self, usual, as_text, template_ids, std::move(on_double_start));
            return nb::object(nb::cast(std::move(made)).attr("encode"));
          },
          "usual"_a, "as_text"_a, "template_ids"_a, "on_double_start"_a.none(),
          nb::sig("def text_encoder(self, usual: Options, as_text: Options, template_ids: TemplateIds, "
                  "on_double_start: Callable[[], object] | None) -> Callable[[AnyText, bool, bool], list[int]]"))
      .def("encode_batch", &PyEncoder::encode_batch, "texts"_a, "options"_a, "threads"_a)
      .def("encode_to_numpy", &PyEncoder::encode_to_numpy, "texts"_a, "options"_a, "threads"_a)
      .def(
          "encode_utf8", &PyEncoder::encode_utf8, "data"_a, "begins"_a, "ends"_a, "options"_a, "threads"_a,
          nb::sig("def encode_utf8(self, data: Buffer, begins: Numbers, ends: Numbers, options: Options, threads: int) "
                  "-> tuple[Ids, Numbers]"))
      .def("encode_with_offsets", &PyEncoder::encode_with_offsets, "texts"_a, "options"_a)
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
