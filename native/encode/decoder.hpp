// Ids to bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/poll.hpp"

namespace hf_bpe {

class Decoder {
 public:
  struct Token {
    std::uint32_t id;
    std::string_view bytes;
  };
  // Adds tokens; one whose id has a token already is left out. Memory is that of the highest id.
  void add(const std::vector<Token>& tokens);

  std::size_t ids() const { return places_.size(); }  // one more than the highest
  // The bytes of a token, 0 if there is none.
  std::size_t size(std::uint32_t id) const { return id < places_.size() ? places_[id].size : 0; }

  // Appends the bytes of ids to `out`, but for those to be skipped: `skipped` is not 0 at their places. Returns how many
  // ids are done: all, or those before the first that there is no token for.
  std::size_t decode(const std::uint32_t* ids, std::size_t size, std::string_view skipped, std::string& out,
                     const PollFunction& poll) const;

 private:
  static constexpr std::size_t kStep = 16;  // bytes that are copied at a time

  struct Place {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;  // 0 where there is no token, for none is empty
  };

  std::vector<Place> places_;  // by id
  std::string bytes_;  // of all tokens, with as many more as are copied at a time
};

}  // namespace hf_bpe
