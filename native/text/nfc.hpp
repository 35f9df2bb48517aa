// A quick check of text for the normalization form NFC.
#pragma once

#include "text/unicode.hpp"

namespace hf_bpe {

// Whether text of units of `width` bytes (0 for UTF-8, as in Text) has only characters that no normalization to NFC
// changes, joins with others or moves, whatever stands around them. If not, it may be in NFC nevertheless.
bool is_surely_nfc(const Byte* begin, const Byte* end, unsigned width);

}  // namespace hf_bpe
