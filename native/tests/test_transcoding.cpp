// Conversion to UTF-8, in vectors and in portable code, compared with a naive definition.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "examples.hpp"
#include "naive.hpp"
#include "random.hpp"
#include "text/transcoding.hpp"

using namespace naive;

namespace {

using Codes = std::vector<std::uint32_t>;

bool is_between(std::uint32_t code, std::uint32_t first, std::uint32_t last) { return first <= code && code <= last; }

std::string naive_utf8(const Codes& codes) {
  std::string utf8;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    std::uint32_t code = codes[i];
    const bool is_pair =
        is_between(code, 0xD800, 0xDBFF) && i + 1 < codes.size() && is_between(codes[i + 1], 0xDC00, 0xDFFF);
    if (is_pair) {
      code = 0x10000 + (code - 0xD800) * 0x400 + (codes[++i] - 0xDC00);
    } else if (is_between(code, 0xD800, 0xDFFF)) {
      code = 0xFFFD;
    }
    utf8 += to_utf8(code);
  }
  return utf8;
}

template <class Unit>
void check(Transcode transcode, const Codes& codes) {
  const auto units = std::make_unique<Unit[]>(codes.size());  // of exact size, so that sanitizers see what is read
  std::copy(codes.begin(), codes.end(), units.get());
  const auto* begin = reinterpret_cast<const Byte*>(units.get());
  const std::size_t room = codes.size() * utf8_bytes(sizeof(Unit)) + kTranscodingSlack;
  const auto out = std::make_unique<Byte[]>(room);
  Byte* const end = transcode(begin, begin + codes.size() * sizeof(Unit), sizeof(Unit), out.get());
  CHECK(std::string(out.get(), end) == naive_utf8(codes));
}

void check(const Codes& codes) {
  const std::uint32_t highest = codes.empty() ? 0 : *std::max_element(codes.begin(), codes.end());
  for (const Transcode transcode : {transcode_for(Simd::kScalar), transcode_for(widest_simd())}) {
    if (highest < 0x100) check<std::uint8_t>(transcode, codes);
    if (highest < 0x10000) check<std::uint16_t>(transcode, codes);
    check<std::uint32_t>(transcode, codes);
  }
}

void test_all_characters() {
  for (std::uint32_t first = 0; first < 0x110000; first += 40) {
    Codes codes;
    for (std::uint32_t code = first; code < first + 40 && code < 0x110000; ++code) codes.push_back(code);
    check(codes);
  }
}

// Each kind of character at each place, among ASCII or among its like.
void test_mixtures() {
  const std::vector<Codes> kinds = {{'a', ' ', 0x7F, 0},
                                    {0x80, 0xE9, 0xFF},
                                    {0x100, 0x416, 0x7FF},
                                    {0x800, 0x4F60, 0xFFFF},
                                    {0xD800, 0xDBFF, 0xDC00, 0xDFFF},
                                    {0x10000, 0x1F44B, 0x10FFFF}};
  for (int i = 0; i < examples(20'000); ++i) {
    const std::size_t most = draw(kinds.size()) + 1, ascii = draw(4);
    Codes codes(draw(100));
    for (std::uint32_t& code : codes) code = draw_from(kinds[draw(4) < ascii ? 0 : draw(most)]);
    check(codes);
  }
}

}  // namespace

int main() {
  test_all_characters();
  test_mixtures();
  return 0;
}
