// The input of training: words with their counts, in memory or elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "text/unicode.hpp"

namespace hf_bpe {

class Words {
 public:
  using Visit = std::function<void(const Byte* word, std::size_t length, std::uint64_t count)>;

  virtual ~Words() = default;

  // Visits each distinct word, in the same order each time; its bytes are valid only during the visit.
  virtual void for_each(const Visit& visit) const = 0;
};

}  // namespace hf_bpe
