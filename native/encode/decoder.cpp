#include "encode/decoder.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace hf_bpe {

void Decoder::add(const Tokens& tokens) {
  bytes_.resize(bytes_.size() < kStep ? 0 : bytes_.size() - kStep);
  std::size_t size = bytes_.size() + kStep;
  for (const auto& [id, bytes] : tokens) size += bytes.size();
  bytes_.reserve(size);
  for (const auto& [id, bytes] : tokens) {
    if (bytes_.size() + bytes.size() > std::numeric_limits<std::uint32_t>::max()) {
      throw std::length_error("the tokens have more than 2**32 bytes");
    }
    if (id >= places_.size()) places_.resize(std::size_t{id} + 1);
    if (places_[id].size != 0) continue;
    places_[id] = {static_cast<std::uint32_t>(bytes_.size()), static_cast<std::uint32_t>(bytes.size())};
    bytes_.append(bytes);
  }
  bytes_.append(kStep, '\0');
}

std::size_t Decoder::decode(const std::uint32_t* ids, std::size_t size, std::string_view skipped, std::string& out,
                            const PollFunction& poll) const {
  constexpr std::size_t kLikelySize = 6;  // of a token
  std::size_t used = out.size();
  const auto finish = [&](std::size_t done) {
    out.resize(used);
    return done;
  };
  PollInLoop polls(poll);
  for (std::size_t i = 0; i < size; ++i) {
    polls();
    if (ids[i] < skipped.size() && skipped[ids[i]] != 0) continue;
    if (ids[i] >= places_.size() || places_[ids[i]].size == 0) return finish(i);
    const Place place = places_[ids[i]];
    if (out.size() - used < place.size + kStep) {
      out.resize(std::max(used + place.size + kStep + kLikelySize * (size - i), used + used / 2));
    }
    char* to = out.data() + used;
    const char* from = bytes_.data() + place.begin;
    std::memcpy(to, from, kStep);
    if (place.size > kStep) {
      std::memcpy(to + kStep, from + kStep, place.size - kStep);
      polls(place.size / kStep);
    }
    used += place.size;
  }
  return finish(size);
}

}  // namespace hf_bpe
