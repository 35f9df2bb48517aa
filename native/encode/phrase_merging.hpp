// Supermerges in encoding: finds the runs of mergeable pre-tokens that are one token each, and merges them in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "encode/id_buffer.hpp"
#include "encode/supermerges.hpp"
#include "encode/token_offsets.hpp"
#include "encode/vocabulary.hpp"
#include "support/poll.hpp"

namespace hf_bpe {

// What threads share.
class PhraseTables {
 public:
  // Supermerges are places in the list of tokens. Throws std::invalid_argument if one does not make its result, or is
  // given twice.
  PhraseTables(const Vocabulary::Tokens& tokens, const std::vector<Vocabulary::Merge>& supermerges);

  const Supermerges& merges() const { return merges_; }

  // Whether an id is a token of these many bytes that a supermerge may merge as a whole pre-token.
  bool is_whole(std::uint32_t id, std::size_t bytes) const {
    return id < tokens_.size() && tokens_[id] == (bytes | kMayMerge);
  }
  // The number of bytes that an id stands for; a byte without a token has a placeholder.
  std::size_t bytes(std::uint32_t id) const { return id < tokens_.size() ? tokens_[id] & ~kMayMerge : 1; }

 private:
  static constexpr std::uint32_t kMayMerge = std::uint32_t{1} << 31;

  Supermerges merges_;
  std::vector<std::uint32_t> tokens_;  // by id: the number of bytes, with kMayMerge
};

// For one thread. What supermerges cannot merge ends a run, even if it is one token.
class PhraseMerger {
 public:
  explicit PhraseMerger(const PhraseTables& tables) : tables_(tables), merger_(tables.merges()) {}

  // Begins a segment of text, whose ids will be appended to `ids`, and their offsets to `offsets` unless it is null.
  void begin(const IdBuffer& ids, const std::vector<TokenOffsets>* offsets) {
    run_ = ids.size();
    skew_ = offsets == nullptr ? 0 : offsets->size() - run_;
  }

  // Consecutive pre-tokens, whose ids are the last ones, from a position on. Merges the runs that end among them.
  void add_words(const Byte* words, const Byte* const* ends, std::size_t count, IdBuffer& ids, std::size_t from,
                 std::vector<TokenOffsets>* offsets, const PollFunction& poll);

  // Ends the segment.
  void end(IdBuffer& ids, std::vector<TokenOffsets>* offsets, const PollFunction& poll);

 private:
  std::size_t merge_run(std::uint32_t* ids, std::size_t end, std::vector<TokenOffsets>* offsets, const PollFunction& poll);

  const PhraseTables& tables_;
  Supermerger merger_;
  std::size_t run_ = 0;   // where the current run begins among the ids
  std::size_t skew_ = 0;  // how far the offsets of an id are after its position; it may wrap around
};

}  // namespace hf_bpe
