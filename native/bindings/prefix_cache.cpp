// Python bindings of caches of prefixes.
#include "bindings/prefix_cache.hpp"

#include <nanobind/stl/tuple.h>

namespace hf_bpe {

void bind_prefix_cache(nb::module_& module) {
  using Numbers = std::tuple<std::size_t, std::size_t, std::size_t, std::size_t, std::size_t, std::size_t, std::size_t>;
  nb::class_<PyPrefixCache>(module, "PrefixCache",
                            R"(The store of `hf_bpe.encoding.PrefixCache`, which encoders share by `with_prefix_cache`.

Several threads may use it at once, and a process may be forked at any time.

Args:
    max_bytes: the most memory that it takes.
)")
      .def(
          "__init__",
          [](PyPrefixCache* made, std::size_t max_bytes) {
            new (made) PyPrefixCache{std::make_shared<PrefixCache>(max_bytes)};
          },
          "max_bytes"_a)
      .def_prop_ro("max_bytes", [](const PyPrefixCache& self) { return self.cache->max_bytes(); })
      .def(
          "statistics",
          [](const PyPrefixCache& self) -> Numbers {
            const PrefixCache::Statistics all = self.cache->statistics();
            return {all.texts,      all.hits,   all.text_bytes,    all.reused_bytes,
                    all.size_bytes, all.blocks, all.evicted_blocks};
          },
          "Return the fields of `hf_bpe.encoding.PrefixCacheStatistics`.")
      .def("clear", [](const PyPrefixCache& self) { self.cache->clear(); }, "Drop all texts, and the statistics.");
}

}  // namespace hf_bpe
