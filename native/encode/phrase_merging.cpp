#include "encode/phrase_merging.hpp"

#include <algorithm>
#include <stdexcept>

#include "text/phrases.hpp"

namespace hf_bpe {
namespace {

std::vector<Supermerges::Merge> merges_of_ids(const Vocabulary::Tokens& tokens,
                                              const std::vector<Vocabulary::Merge>& supermerges) {
  std::vector<Supermerges::Merge> merges;
  merges.reserve(supermerges.size());
  for (const auto& [first, second, result] : supermerges) {
    if (std::max({first, second, result}) >= tokens.size()) throw std::invalid_argument("a supermerge of no token");
    const std::string_view made = tokens[result].second, head = tokens[first].second;
    if (!made.starts_with(head) || made.substr(head.size()) != tokens[second].second) {
      throw std::invalid_argument("a supermerge that does not make its result");
    }
    merges.push_back({tokens[first].first, tokens[second].first, tokens[result].first});
  }
  return merges;
}

}  // namespace

PhraseTables::PhraseTables(const Vocabulary::Tokens& tokens, const std::vector<Vocabulary::Merge>& supermerges)
    : merges_(merges_of_ids(tokens, supermerges)) {
  for (const auto& [id, token] : tokens) {
    if (id >= kMayMerge || token.size() >= kMayMerge) throw std::invalid_argument("ids from 2**31 on are not supported");
    if (id >= tokens_.size()) tokens_.resize(std::size_t{id} + 1, 1);
    tokens_[id] = static_cast<std::uint32_t>(token.size());
  }
  for (const auto& [first, second, result] : supermerges) {
    for (const std::uint32_t part : {first, second}) {
      const auto& [id, token] = tokens[part];
      if (is_mergeable(reinterpret_cast<const Byte*>(token.data()), token.size())) tokens_[id] |= kMayMerge;
    }
  }
}

void PhraseMerger::add_words(const Byte* words, const Byte* const* ends, std::size_t count, IdBuffer& ids,
                             std::size_t from, std::vector<TokenOffsets>* offsets, const PollFunction& poll) {
  std::uint32_t* const data = ids.begin();
  std::size_t to = from;
  const auto move = [&] {
    data[to] = data[from];
    if (offsets != nullptr) (*offsets)[to + skew_] = (*offsets)[from + skew_];
    ++to;
    ++from;
  };
  for (std::size_t i = 0; i < count; words = ends[i++]) {
    std::size_t left = static_cast<std::size_t>(ends[i] - words);
    if (tables_.is_whole(data[from], left)) {
      move();
      continue;
    }
    to = merge_run(data, to, offsets, poll);
    while (left != 0) {
      left -= std::min(left, tables_.bytes(data[from]));
      move();
    }
    run_ = to;
  }
  ids.set_end(data + to);
  if (offsets != nullptr) offsets->resize(to + skew_);
}

void PhraseMerger::end(IdBuffer& ids, std::vector<TokenOffsets>* offsets, const PollFunction& poll) {
  run_ = merge_run(ids.begin(), ids.size(), offsets, poll);
  ids.set_end(ids.begin() + run_);
  if (offsets != nullptr) offsets->resize(run_ + skew_);
}

// Merges the run that ends at `end`, and returns its new end.
std::size_t PhraseMerger::merge_run(std::uint32_t* ids, std::size_t end, std::vector<TokenOffsets>* offsets,
                                    const PollFunction& poll) {
  if (end - run_ < 2) return end;
  const std::size_t size = merger_.merge(ids + run_, end - run_, poll);
  if (offsets != nullptr) {
    TokenOffsets* to = offsets->data() + run_ + skew_;
    const TokenOffsets* from = to;
    for (std::size_t i = 0; i < size; from += merger_.widths()[i++]) {
      // A token of several pre-tokens is in the part where it begins.
      *to++ = {from->begin, from[merger_.widths()[i] - 1].end, from->part};
    }
  }
  return run_ + size;
}

}  // namespace hf_bpe
