// Ids to bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/poll.hpp"

namespace hf_bpe {

class Decoder {
 public:
  using Tokens = std::vector<std::pair<std::uint32_t, std::string_view>>;

  // Adds tokens with their ids, except those whose id already has one. Memory depends on the highest id.
  void add(const Tokens& tokens);

  std::size_t ids() const { return places_.size(); }  // the highest id plus one
  // The bytes of a token, none if there is none.
  std::string_view bytes(std::uint32_t id) const {
    return id < places_.size() ? std::string_view(bytes_).substr(places_[id].begin, places_[id].size) : "";
  }

  // Appends the bytes of ids to `out`, except of ids with a nonzero byte in `skipped`. Returns the number of ids done:
  // all, or the ids before the first without a token.
  std::size_t decode(const std::uint32_t* ids, std::size_t size, std::string_view skipped, std::string& out,
                     const PollFunction& poll) const;

 private:
  static constexpr std::size_t kStep = 16;  // bytes to copy at a time

  struct Place {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;  // 0 without a token, as no token is empty
  };

  std::vector<Place> places_;  // by id
  std::string bytes_;          // of all tokens, with room for one more step
};

}  // namespace hf_bpe
