// The first bytes choose the model, pattern, special tokens, threads and chunks; the rest is text, to be encoded, and
// ids.
#include "tests/naive_encoding.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace naive;
  constexpr std::size_t kHead = 40;
  if (size < kHead + 1) return 0;
  std::size_t next = 4;
  const auto draw = [&](std::size_t below) { return data[next++ % kHead] % below; };
  std::string text(data + kHead, data + std::min(size, kHead + 300));
  const std::string alphabet = text.substr(0, 1 + data[0] % 4);
  Model model = make_model(alphabet, data[1] % 18, data[0] & 64, data[0] & 128 ? 100 : 0, draw);
  check_merging(model, text);
  if (data[0] & 16) {  // long tokens, and words that contain or nearly contain them
    std::string word;
    for (const char byte : text.substr(0, 20)) word += std::string(1 + draw(64), "ab"[byte & 1]);
    check_merging(make_hostile_model(2 + data[2] % 128, draw), word.substr(0, 300));
  }
  if (data[1] & 128) add_whole_words(model, alphabet, data[1] / 4 % 32, data[0] & 32 ? 3000 : 70'000, draw);
  model.drops_missing_bytes = data[0] & 16;
  const Pattern pattern = kPatterns[data[2] % kPatterns.size()];
  std::vector<std::string> specials;
  for (std::size_t i = 0; i < data[3] % 4u; ++i) {  // tokens that occur in the text, and overlap
    const std::string special = text.substr((data[3] / 4 + i) % text.size(), i + 1 + data[2] / 128);
    if (std::find(specials.begin(), specials.end(), special) == specials.end()) specials.push_back(special);
  }
  check_encoder(model, pattern, specials, {text, text.substr(text.size() / 2), ""}, data[2] / 64 % 2 + 1, data[1] + 1,
                data[2] / 32 % 2 ? widest_simd() : Simd::kScalar);

  std::vector<std::uint32_t> ids;
  for (const char byte : text) ids.push_back(static_cast<Byte>(byte) * 3u);
  check_decoder(model, ids, std::string(data[3] % 16, 1));
  return 0;
}
