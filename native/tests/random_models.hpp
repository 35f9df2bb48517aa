// Random models, and words that their tokens make.
#pragma once

#include <string>

#include "naive_encoding.hpp"
#include "random.hpp"

namespace naive {

inline Model draw_model() {
  const std::string alphabet = draw_from<std::string>({"a", "ab", "abc", " ab\xC3", "low er"});
  Model model = make_model(alphabet, draw(40), draw(2), draw(4) == 0 ? 98 : 0, draw);
  if (draw(2)) add_whole_words(model, alphabet, draw(30), draw(2) ? 3000 : 70'000, draw);  // in 16 bits or more
  model.drops_missing_bytes = draw(2);
  return model;
}

inline std::string draw_word(const Model& model, std::size_t length) {
  std::string word;
  while (word.size() < length) word += draw(6) ? draw_from(model.tokens).second : std::string(1, "ab"[draw(2)]);
  return word.substr(0, length);
}

}  // namespace naive
