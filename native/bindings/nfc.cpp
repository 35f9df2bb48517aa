// Python bindings of the quick check for NFC.
#include "text/nfc.hpp"

#include <cstdint>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/held_objects.hpp"

namespace hf_bpe {
namespace {

using Numbers = Typed<nb::object, "Numbers">;

Numbers beyond_nfc(const std::vector<Text>& texts) {
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Text& text = texts[i];
    if (!is_surely_nfc(text.begin, text.end, text.width)) numbers.push_back(static_cast<std::int64_t>(i));
  }
  return to_array(numbers);
}

Numbers texts_beyond_nfc(const Typed<nb::list, "list[AnyText]">& texts) {
  const HeldTexts held(texts, {.repairs_surrogates = true, .max_wide_bytes = static_cast<std::size_t>(-1)});
  return beyond_nfc(held.texts);
}

Numbers spans_beyond_nfc(const nb::object& data, const GivenNumbers& begins, const GivenNumbers& ends) {
  const CopiedSpan copied(data, numbers_in(begins, "begins"), numbers_in(ends, "ends"));
  return beyond_nfc(copied.texts);
}

}  // namespace

void bind_nfc(nb::module_& module) {
  module.def("texts_beyond_nfc", &texts_beyond_nfc, "texts"_a,
             "Return the numbers of the texts that normalization to NFC may change.");
  module.def("spans_beyond_nfc", &spans_beyond_nfc, "data"_a, "begins"_a, "ends"_a,
             nb::sig("def spans_beyond_nfc(data: Buffer, begins: Numbers, ends: Numbers) -> Numbers"),
             "Return what `texts_beyond_nfc` does for texts in a buffer, as `Encoder.encode_utf8` takes them.");
}

}  // namespace hf_bpe
