#include "text/transcoding.hpp"

namespace hf_bpe {
namespace {

// Calls `use` with the first unit of a text, which has the type of its units.
template <class Use>
auto with_units(const Byte* text, unsigned width, Use use) {
  if (width == 1) return use(text);
  if (width == 2) return use(reinterpret_cast<const std::uint16_t*>(text));
  return use(reinterpret_cast<const std::uint32_t*>(text));
}

template <class Unit>
TranscodingPlace convert_characters(const Unit* text, const Unit* stop, const Unit* end, Byte* out) {
  while (text < stop) {
    const auto [size, units] = one_to_utf8(text, end, out);
    text += units;
    out += size;
  }
  return {reinterpret_cast<const Byte*>(text), out};
}

}  // namespace

TranscodingPlace transcode_characters(TranscodingPlace at, const Byte* stop, const Byte* end, unsigned width) {
  return with_units(at.text, width, [&]<class Unit>(const Unit* text) {
    return convert_characters(text, reinterpret_cast<const Unit*>(stop), reinterpret_cast<const Unit*>(end), at.out);
  });
}

Byte* transcode(const Byte* text, const Byte* end, unsigned width, Byte* out) {
  return with_units(text, width, [&]<class Unit>(const Unit* unit) {
    constexpr std::ptrdiff_t kRun = 16;  // units to check at once: in most texts most are ASCII
    const auto* const last = reinterpret_cast<const Unit*>(end);
    while (unit < last) {
      while (last - unit >= kRun) {
        Unit all = 0;
        for (std::ptrdiff_t i = 0; i < kRun; ++i) all |= unit[i];
        if (all >= 0x80) break;
        for (std::ptrdiff_t i = 0; i < kRun; ++i) out[i] = static_cast<Byte>(unit[i]);
        unit += kRun;
        out += kRun;
      }
      // A run with non-ASCII units, or the last run.
      const TranscodingPlace next = convert_characters(unit, last - unit < kRun ? last : unit + kRun, last, out);
      unit = reinterpret_cast<const Unit*>(next.text);
      out = next.out;
    }
    return out;
  });
}

}  // namespace hf_bpe
