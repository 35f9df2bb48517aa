// Merges one word by whichever way pays: a scan, a heap, backtracking, long pieces, or with dropout.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

#include "merge/backtracking.hpp"
#include "merge/dropout.hpp"
#include "merge/dropout_merging.hpp"
#include "merge/few_bytes.hpp"
#include "merge/long_pieces.hpp"
#include "merge/merging.hpp"

namespace hf_bpe {

// The draws of words that are merged without dropout.
struct NoDraws {};

// For one thread. `long_pieces`: null if long words are merged as a whole.
class WordMerger {
 public:
  WordMerger(const Vocabulary& vocabulary, const LazyBacktracking& backtracking, const LazyLongPieces* long_pieces,
             Simd simd)
      : backtracking(backtracking),
        long_pieces(long_pieces),
        simd(simd),
        vocabulary_(vocabulary),
        merger_(vocabulary),
        few_bytes_(vocabulary, backtracking.is_affordable()),
        dropout_merger_(vocabulary) {}

  // Writes the ids of a word and returns their number. `place` is its place in the text.
  std::size_t write(const Byte* word, std::size_t length, const Byte* place, std::uint32_t* out,
                    const PollFunction& poll, const TextDraws& draws) {
    return dropout_merger_.merge(word, length, WordDraws(draws, place), out, poll);
  }
  std::size_t write(const Byte* word, std::size_t length, const Byte*, std::uint32_t* out, const PollFunction& poll,
                    NoDraws) {
    const std::vector<Symbol>& symbols = merge(word, length, poll);
    for (std::size_t i = 0; i < symbols.size(); ++i) out[i] = vocabulary_.id(symbols[i]);
    return vocabulary_.expand(out, symbols.size());
  }

  // Writes the ids of a word that is merged without its bytes that have no token, and returns their number. The
  // placeholders of these come last, so that the ids still cover all bytes of the word; the encoder removes them.
  template <class Draws>
  std::size_t write_known(const Byte* word, std::size_t length, std::uint32_t* out, const PollFunction& poll,
                          const Draws& draws) {
    known_.clear();
    std::copy_if(word, word + length, std::back_inserter(known_),
                 [&](Byte byte) { return vocabulary_.id(byte) < Vocabulary::kMissing; });
    std::size_t size = known_.empty() ? 0 : write(known_.data(), known_.size(), word, out, poll, draws);
    for (std::size_t i = known_.size(); i < length; ++i) out[size++] = Vocabulary::kMissing;
    return size;
  }

  // Writes the ids of a word that skips a merge, given a number that no other word of its length has.
  std::size_t drop(std::uint64_t low, std::uint64_t high, const Byte* word, std::size_t length, const WordDraws& draws,
                   std::uint32_t* out) {
    if (length > DropoutMerger::kLongestRemembered) return dropout_merger_.merge(word, length, draws, out, kNoPoll);
    return dropout_merger_.merge_remembered(low, high, word, length, draws, out);
  }

  // Whether a word was long enough to be merged by long pieces.
  bool has_long_pieces() const { return long_piece_merger_ != nullptr; }

  const LazyBacktracking& backtracking;
  const LazyLongPieces* const long_pieces;
  const Simd simd;

 private:
  const std::vector<Symbol>& merge(const Byte* word, std::size_t length, const PollFunction& poll) {
    if (const auto* const few = backtracking.is_ready() ? nullptr : few_bytes_.get(word, length, poll)) {
      return few->merge(word, length, symbols_, poll) ? symbols_ : merger_.merge(word, length, poll);
    }
    const bool pays =
        length > Merger::kLongestScan && backtracking.pays_after(heap_steps_ += Merger::heap_steps(length));
    const LongPieces* const pieces = pays && long_pieces != nullptr ? long_pieces->get(poll) : nullptr;
    if (pieces == nullptr) return merge_whole(word, length, poll);
    if (!long_piece_merger_) long_piece_merger_ = std::make_unique<LongPieceMerger>(*pieces, simd);
    pieces_.clear();
    const auto merge_stretch = [&](const Byte* begin, std::size_t size) {
      const std::vector<Symbol>& merged = merge_whole(begin, size, poll);
      pieces_.insert(pieces_.end(), merged.begin(), merged.end());
    };
    long_piece_merger_->merge(word, length, pieces_, merge_stretch, poll);
    return pieces_;
  }

  const std::vector<Symbol>& merge_whole(const Byte* word, std::size_t length, const PollFunction& poll) {
    if (length > Merger::kLongestScan && backtracking.pays_after(heap_steps_)) {
      const Backtracking& ready = backtracking.get(poll);
      if (ready.is_exact() && ready.merge(word, length, symbols_, poll)) return symbols_;
    }
    return merger_.merge(word, length, poll);
  }

  const Vocabulary& vocabulary_;
  Merger merger_;
  FewBytesBacktracking few_bytes_;
  DropoutMerger dropout_merger_;
  std::unique_ptr<LongPieceMerger> long_piece_merger_;
  std::vector<Symbol> symbols_, pieces_;
  std::vector<Byte> known_;     // the bytes of a word that have a token
  std::size_t heap_steps_ = 0;  // steps that words took so far, or would have taken
};

}  // namespace hf_bpe
