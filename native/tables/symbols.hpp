// Tokens as numbers of a training or of an encoder, which are not their ids.
#pragma once

#include <cstdint>

namespace hf_bpe {

using Symbol = std::uint32_t;

}  // namespace hf_bpe
