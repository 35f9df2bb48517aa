// Backtracking for long words of few different bytes, such as runs of spaces or of one letter, that knows only the
// merges that such a word can use, for then it is prepared in a small part of the time.
// Why it is exact: the parts of any merge in a word are its bytes, or results of merges in it. So a model of only the
// merges that `Backtracking::usable_merges` finds gives the same ids, and for that model the search is exact.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "merge/backtracking.hpp"
#include "merge/merging.hpp"

namespace hf_bpe {

// For one thread: keeps what it has prepared for the next word.
class FewBytesBacktracking {
 public:
  // `is_affordable`: whether the vocabulary is, for Backtracking. A heap would take `steps_per_merge` for words that
  // are long enough, so that looking at all merges takes a small part of the time; one merge of `fewer` may be usable.
  FewBytesBacktracking(const Vocabulary& vocabulary, bool is_affordable, std::size_t steps_per_merge = 4,
                       std::size_t fewer = 8)
      : vocabulary_(vocabulary),
        is_possible_(is_affordable && is_in_order(vocabulary)),
        steps_per_merge_(steps_per_merge),
        fewer_(fewer) {}

  // Whether each merge makes a token that none before makes, of parts that are there already.
  static bool is_in_order(const Vocabulary& vocabulary) { return vocabulary.merge_tables().results == nullptr; }

  // What merges a word as one with all merges would, until the next call. Null if the word is too short to prepare it,
  // or can use too many merges, or if these are not in order.
  const Backtracking* get(const Byte* word, std::size_t length, const PollFunction& poll) {
    if (!is_possible_ || Merger::heap_steps(length) < steps_per_merge_ * vocabulary_.merges().size()) return nullptr;
    bool has_byte[256] = {};
    for (std::size_t i = 0; i < length; ++i) has_byte[word[i]] = true;
    Backtracking::Bytes bytes;
    for (std::size_t byte = 0; byte < 256; ++byte) bytes[byte] = has_byte[byte];
    if ((bytes & ~prepared_bytes_).any()) prepare(bytes, poll);
    return (bytes & ~prepared_bytes_).none() ? &*prepared_ : nullptr;
  }

 private:
  void prepare(const Backtracking::Bytes& bytes, const PollFunction& poll) {
    if (rejected_bytes_.any() && (rejected_bytes_ & ~bytes).none()) return;  // more bytes can use more merges
    const std::vector<Rank> usable = Backtracking::usable_merges(vocabulary_, bytes, poll);
    if (usable.size() * fewer_ > vocabulary_.merges().size()) {
      rejected_bytes_ = bytes;
      return;
    }
    prepared_bytes_.reset();  // an interrupt may end the preparation
    prepared_.emplace(vocabulary_, usable, poll);
    prepared_bytes_ = bytes;
  }

  const Vocabulary& vocabulary_;
  const bool is_possible_;
  const std::size_t steps_per_merge_, fewer_;
  std::optional<Backtracking> prepared_;
  Backtracking::Bytes prepared_bytes_, rejected_bytes_;  // the last ones
};

}  // namespace hf_bpe
