#include "encode/token_bytes.hpp"

#include <algorithm>
#include <stdexcept>

namespace hf_bpe {
namespace {

struct Entry {
  std::uint64_t beginning;  // the first 8 bytes, which decide most comparisons without a look at the token
  std::string_view token;
  std::size_t place;
};

std::uint64_t beginning_of(std::string_view token) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i) {
    value = value << 8 | (i < token.size() ? static_cast<std::uint8_t>(token[i]) : 0);
  }
  return value;
}

// Sorts by bytes, and equal tokens by place.
void sort(std::vector<Entry>& entries) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    if (a.beginning != b.beginning) return a.beginning < b.beginning;
    const int order = a.token.compare(b.token);
    return order != 0 ? order < 0 : a.place < b.place;
  });
}

}  // namespace

std::string_view TokenBytes::operator[](std::size_t id) const {
  if (id >= tokens_) throw std::invalid_argument("ids: expected ids of tokens");
  const auto begin = static_cast<std::size_t>(offsets_[id]), end = static_cast<std::size_t>(offsets_[id + 1]);
  if (begin > end || end > data_.size()) {
    throw std::invalid_argument("offsets: expected numbers in order and within the data");
  }
  return data_.substr(begin, end - begin);
}

std::string TokenBytes::join(const std::vector<std::uint32_t>& ids, const PollFunction& poll) const {
  std::size_t total = 0;
  for (const std::uint32_t id : ids) total += (*this)[id].size();
  std::string joined;
  joined.reserve(total);
  PollInLoop polls(poll);
  for (const std::uint32_t id : ids) {
    const std::string_view token = (*this)[id];
    joined.append(token);
    polls(1 + token.size() / 64);
  }
  return joined;
}

std::vector<std::int64_t> longest_prefixes(const TokenBytes& tokens, const TokenBytes& others,
                                           const std::vector<std::uint32_t>& candidates, const PollFunction& poll) {
  std::vector<Entry> prefixes, wanted;
  prefixes.reserve(candidates.size());
  for (std::size_t place = 0; place < candidates.size(); ++place) {
    const std::string_view token = others[candidates[place]];
    if (!token.empty()) prefixes.push_back({beginning_of(token), token, place});
  }
  wanted.reserve(tokens.size());
  for (std::size_t id = 0; id < tokens.size(); ++id) {
    const std::string_view token = tokens[id];
    if (!token.empty()) wanted.push_back({beginning_of(token), token, id});
  }
  poll();
  sort(prefixes);
  poll();
  sort(wanted);
  poll();
  std::vector<std::int64_t> ids(tokens.size(), -1);
  // The candidates that are prefixes of where the walk is, each a prefix of the next. One that is no prefix of a token
  // is none of any later one, because strings with a common prefix are side by side.
  std::vector<const Entry*> open;
  const auto close_until = [&](std::string_view token) {
    while (!open.empty() && !token.starts_with(open.back()->token)) open.pop_back();
  };
  PollInLoop polls(poll);
  auto next = prefixes.begin();
  for (const Entry& entry : wanted) {
    for (; next != prefixes.end() && next->token <= entry.token; ++next) {
      polls();
      close_until(next->token);
      if (open.empty() || open.back()->token != next->token) open.push_back(&*next);
    }
    polls();
    close_until(entry.token);
    if (!open.empty()) ids[entry.place] = candidates[open.back()->place];
  }
  return ids;
}

}  // namespace hf_bpe
