#include "text/chain.hpp"

#include <utility>

namespace hf_bpe {
namespace {

// Pieces of a text by what becomes of matches. Parts of the text, matches and what is between them, come in order; a
// part waits until the next one is known to be apart from it. Empty parts count, but make no pieces.
template <class OnPiece>
class Joiner {
 public:
  Joiner(Behavior behavior, OnPiece on_piece) : behavior_(behavior), on_piece_(on_piece) {}

  void add(const Byte* begin, const Byte* end, bool is_match) {
    if (behavior_ == Behavior::kRemoved) {
      if (!is_match && begin < end) on_piece_(begin, end);
      return;
    }
    if (has_part_ && is_joined(is_match)) {
      end_ = end;
    } else {
      finish();
      begin_ = begin;
      end_ = end;
      has_part_ = true;
    }
    was_match_ = is_match;
  }

  void finish() {
    if (has_part_ && begin_ < end_) on_piece_(begin_, end_);
    has_part_ = false;
  }

 private:
  bool is_joined(bool is_match) const {
    switch (behavior_) {
      case Behavior::kMergedWithPrevious: return is_match && !was_match_;
      case Behavior::kMergedWithNext: return !is_match && was_match_;
      case Behavior::kContiguous: return is_match == was_match_;
      case Behavior::kRemoved:
      case Behavior::kIsolated: break;
    }
    return false;
  }

  const Behavior behavior_;
  OnPiece on_piece_;
  const Byte *begin_ = nullptr, *end_ = nullptr;
  bool has_part_ = false, was_match_ = false;
};

}  // namespace

void Matcher::reset(const Byte* begin, const Byte* end) {
  begin_ = at_ = begin;
  end_ = end;
  last_ = nullptr;
  work_ = 0;
  uses_automaton_ = expression_.is_regular();
  if (!uses_automaton_) backtracker_.reset(begin, end);
}

const Byte* Matcher::match(const Byte* at, PollInLoop& polls) {
  if (uses_automaton_) {
    const std::size_t before = work_;
    const Byte* const found = automaton_.match(begin_, at, end_, work_, polls);
    polls(work_ - before + 1);
    // Where attempts read far beyond what they match, their time would be quadratic. For backtracking it is limited by
    // the size of the program.
    constexpr std::size_t kFree = 1 << 16;
    if (work_ > kFree + expression_.code().size() * static_cast<std::size_t>(at - begin_)) {
      uses_automaton_ = false;
      backtracker_.reset(begin_, end_);
    }
    return found;
  }
  const Alphabet& alphabet = expression_.alphabet();
  if (!expression_.may_begin(at == end_ ? alphabet.edge() : alphabet.at(at, end_).type)) return nullptr;
  return backtracker_.match(at, polls);
}

bool Matcher::next(const Byte*& match, const Byte*& match_end, PollInLoop& polls) {
  while (at_ <= end_) {
    const Byte* const found = this->match(at_, polls);
    if (found != nullptr && !(found == at_ && at_ == last_)) {
      match = at_;
      match_end = at_ = last_ = found;
      return true;
    }
    if (at_ == end_) break;
    at_ += expression_.alphabet().at(at_, end_).length;
  }
  return false;
}

ChainSplitter::ChainSplitter(std::shared_ptr<const Chain> chain) : chain_(std::move(chain)) {
  matchers_.reserve(chain_->stages.size());
  for (const Stage& stage : chain_->stages) matchers_.emplace_back(stage.expression);
}

void ChainSplitter::split(const Byte* begin, const Byte* end, const PollFunction& poll, const Visit& visit) {
  PollInLoop polls(poll);
  count_ = 0;
  if (begin == end) return;
  split_by(0, begin, end, polls, visit);
  flush(visit);
}

// Recursive, but no deeper than the chain is long.
void ChainSplitter::split_by(std::size_t stage, const Byte* begin, const Byte* end, PollInLoop& polls,
                             const Visit& visit) {
  if (stage == chain_->stages.size()) return add(begin, end, visit);
  const bool invert = chain_->stages[stage].invert;
  Joiner joiner(chain_->stages[stage].behavior, [&](const Byte* from, const Byte* to) { split_by(stage + 1, from, to, polls, visit); });
  Matcher& matcher = matchers_[stage];
  matcher.reset(begin, end);
  const Byte* done = begin;
  const Byte *match, *match_end;
  while (matcher.next(match, match_end, polls)) {
    if (done < match) joiner.add(done, match, invert);
    joiner.add(match, match_end, !invert);
    done = match_end;
  }
  if (done < end) joiner.add(done, end, invert);
  joiner.finish();
}

void ChainSplitter::add(const Byte* begin, const Byte* end, const Visit& visit) {
  if (count_ == kEnds || (count_ > 0 && ends_[count_ - 1] != begin)) flush(visit);
  if (count_ == 0) first_ = begin;
  ends_[count_++] = end;
}

void ChainSplitter::flush(const Visit& visit) {
  const std::size_t count = std::exchange(count_, 0);
  if (count > 0) visit(first_, ends_.data(), count);
}

const Byte* find_safe_cut(const Chain& chain, const Byte* begin, const Byte* from, const Byte* end) {
  for (const Byte* at = from > begin ? from : begin + 1; at < end; ++at) {
    if (at[-1] < 0x80 && *at < 0x80 && chain.cuts[at[-1]][*at]) return at;
  }
  return end;
}

}  // namespace hf_bpe
