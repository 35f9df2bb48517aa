#include "token_finder.hpp"

#include <algorithm>
#include <cstring>

namespace hf_bpe {

TokenFinder::TokenFinder(const std::vector<std::string>& tokens) : tokens_(1, kNoToken) {
  for (std::size_t token = 0; token < tokens.size(); ++token) {
    if (tokens[token].empty()) continue;
    longest_ = std::max(longest_, tokens[token].size());
    is_first_[static_cast<Byte>(tokens[token][0])] = true;
    std::uint32_t node = 0;
    for (const char byte : tokens[token]) {
      node = children_.insert(node, static_cast<Byte>(byte), static_cast<std::uint32_t>(tokens_.size()));
      if (node == tokens_.size()) tokens_.push_back(kNoToken);
    }
    if (tokens_[node] == kNoToken) tokens_[node] = token;
  }
  if (std::count(std::begin(is_first_), std::end(is_first_), true) == 1) {
    only_first_ = static_cast<int>(std::find(std::begin(is_first_), std::end(is_first_), true) - std::begin(is_first_));
  }
}

TokenFinder::Found TokenFinder::find_any(const Byte* from, const Byte* end) const {
  for (; from < end; ++from) {
    if (only_first_ >= 0) {
      from = static_cast<const Byte*>(std::memchr(from, only_first_, static_cast<std::size_t>(end - from)));
      if (from == nullptr) break;
    } else if (!is_first_[*from]) {
      continue;
    }
    Found found{end, end, kNoToken};
    find_at(from, end, [&](const Byte* behind, std::size_t token) { found = {from, behind, token}; });
    if (found.token != kNoToken) return found;
  }
  return {end, end, kNoToken};
}

bool TokenFinder::allows_cut(const Byte* begin, const Byte* at, const Byte* end) const {
  return longest_ < 2 || !is_reached(begin, at, end, longest_ - 1, at + 1);
}

bool TokenFinder::is_touching(const Byte* begin, const Byte* at, const Byte* end) const {
  bool begins_here = false;
  if (longest_ != 0) find_at(at, end, [&](const Byte*, std::size_t) { begins_here = true; });
  return begins_here || is_reached(begin, at, end, longest_, at);
}

bool TokenFinder::is_reached(const Byte* begin, const Byte* at, const Byte* end, std::size_t back,
                             const Byte* least) const {
  bool is_reached = false;
  back = std::min(back, static_cast<std::size_t>(at - begin));
  for (const Byte* from = at - back; from < at; ++from) {
    if (is_first_[*from]) find_at(from, end, [&](const Byte* behind, std::size_t) { is_reached |= behind >= least; });
  }
  return is_reached;
}

}  // namespace hf_bpe
