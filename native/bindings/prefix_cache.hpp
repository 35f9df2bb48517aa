// Caches of the beginnings of texts, as Python holds them.
#pragma once

#include <memory>

#include "bindings/python.hpp"
#include "encode/prefix_cache.hpp"

namespace hf_bpe {

struct PyPrefixCache {
  std::shared_ptr<PrefixCache> cache;
};

void bind_prefix_cache(nb::module_& module);

}  // namespace hf_bpe
