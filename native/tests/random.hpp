// Random input that is the same in every run.
#pragma once

#include <random>
#include <vector>

namespace naive {

inline std::mt19937 generator(1);

inline std::size_t draw(std::size_t below) {
  return std::uniform_int_distribution<std::size_t>(0, below - 1)(generator);
}

template <class T>
const T& draw_from(const std::vector<T>& choices) {
  return choices[draw(choices.size())];
}

}  // namespace naive
