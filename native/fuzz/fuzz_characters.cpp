// The first bytes choose the model, rules, special tokens, threads and chunks; the rest is text.
#include "tests/naive_characters.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace naive;
  constexpr std::size_t kHead = 48;
  if (size < kHead + 1) return 0;
  std::size_t next = 4;
  const auto draw = [&](std::size_t below) { return data[next++ % kHead] % below; };
  const CharacterModel model = make_character_model(draw);
  // Bytes name pieces of a text, in which most would not be characters of the model.
  const std::string given(data + kHead, data + std::min(size, kHead + 200));
  std::string text;
  for (const char each : given) {
    const auto byte = static_cast<Byte>(each);
    const std::vector<std::string>& pieces = byte & 64 ? kBrokenCharacters : kCharacters;
    text += byte & 128 ? std::string(1, each) : pieces[byte % 64 % pieces.size()];
  }
  std::vector<std::string> specials;
  for (std::size_t i = 0; i < data[0] % 4u; ++i) {  // tokens that occur in the text, and overlap
    const std::string special = text.substr((data[0] / 4 + i) % text.size(), i + 1 + data[1] % 3);
    if (find_invalid_utf8(special)) continue;
    if (std::find(specials.begin(), specials.end(), special) == specials.end()) specials.push_back(special);
  }
  check_character_cuts(model, text, data[3] % 8 + 1);
  check_character_encoder(model, specials, {text, text.substr(text.size() / 2), ""}, data[2] / 128 + 1, data[1] + 1,
                          data[2] / 64 % 2 ? widest_simd() : Simd::kScalar);
  return 0;
}
