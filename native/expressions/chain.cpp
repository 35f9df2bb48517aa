#include "expressions/chain.hpp"

#include <bit>
#include <cstring>
#include <string>
#include <string_view>
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
      case Behavior::kMergedWithPrevious:
        return is_match && !was_match_;
      case Behavior::kMergedWithNext:
        return !is_match && was_match_;
      case Behavior::kContiguous:
        return is_match == was_match_;
      case Behavior::kRemoved:
      case Behavior::kIsolated:
        break;
    }
    return false;
  }

  const Behavior behavior_;
  OnPiece on_piece_;
  const Byte *begin_ = nullptr, *end_ = nullptr;
  bool has_part_ = false, was_match_ = false;
};

// The steps that splitting a text may take, which are three to five seconds for a megabyte. Patterns in use take at
// most four for each byte, on any text, and some ten thousand at the beginning, while automata are made.
constexpr std::size_t kFreeSteps = std::size_t{1} << 22, kStepsOfByte = 500;

[[noreturn]] void throw_too_costly(std::size_t size) {
  throw ExpressionTooCostly("the pattern takes more than " + std::to_string(kStepsOfByte) +
                            " steps a byte to split a text of " + std::to_string(size) +
                            " bytes; expected an expression with fewer choices and repetitions");
}

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
  if (!uses_automaton_) return backtracker_.match(at, polls);
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

bool Matcher::next(const Byte*& match, const Byte*& match_end, PollInLoop& polls) {
  while (at_ <= end_) {
    const Byte* const from = at_;
    at_ = expression_.skip(from, end_);
    if (at_ > from) polls(static_cast<std::size_t>(at_ - from));
    if (at_ == end_ && !expression_.may_begin(expression_.alphabet().edge())) break;
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
  for (std::size_t i = 0; i < chain_->stages.size(); ++i) {
    const Stage& stage = chain_->stages[i];
    matchers_.emplace_back(stage.expression);
    const Alphabet& alphabet = stage.expression.alphabet();
    // What leaves a piece as it is: no match, unless what is not matched is left out, or spaces are added or written
    // differently.
    const bool is_always =
        stage.adds_space || !stage.space.empty() || (stage.invert && stage.behavior == Behavior::kRemoved);
    for (unsigned value = 0; value < begins_.size(); ++value) {
      const Byte byte = static_cast<Byte>(value);
      const bool is_known = !is_always && alphabet.is_character(byte);
      const unsigned type = is_known ? alphabet.at(&byte, &byte + 1).type : 0;
      begins_[value] |= std::uint64_t{!is_known || stage.expression.may_begin(type)} << i;
      ends_with_[value] |= std::uint64_t{!is_known || stage.expression.may_end(type)} << i;
    }
  }
}

void ChainSplitter::split(const Byte* begin, const Byte* end, const PollFunction& poll, const Visit& visit,
                          bool is_first) {
  is_first_ = is_first;
  count_ = 0;
  copy_.reset();  // that of a split that an error ended
  text_ = begin;
  if (begin == end) return;
  const auto size = static_cast<std::size_t>(end - begin);
  const std::size_t most = kFreeSteps + kStepsOfByte * size;
  const PollInLoop* counted = nullptr;
  const PollFunction limited = [&] {
    if (counted->done() > most) throw_too_costly(size);
    poll();
  };
  PollInLoop polls(limited);
  counted = &polls;
  split_by(0, begin, end, polls, visit);
  flush(visit);
}

std::size_t ChainSplitter::next_stage(std::size_t stage, const Byte* begin, const Byte* end) const {
  constexpr std::ptrdiff_t kMaxBytes = 64;  // longer pieces are few, and most stages match in them
  if (end - begin > kMaxBytes) return stage;
  std::uint64_t begins = 0, ends = 0;
  for (const Byte* at = begin; at < end; ++at) {
    begins |= begins_[*at];
    ends |= ends_with_[*at];
  }
  const std::uint64_t open = begins & ends & ~((std::uint64_t{1} << stage) - 1);
  return open == 0 ? chain_->stages.size() : static_cast<std::size_t>(std::countr_zero(open));
}

// Recursive, but no deeper than the chain is long.
void ChainSplitter::split_by(std::size_t stage, const Byte* begin, const Byte* end, PollInLoop& polls,
                             const Visit& visit) {
  if (stage < chain_->stages.size()) stage = next_stage(stage, begin, end);
  if (stage == chain_->stages.size()) return add(begin, end, visit);
  if (needs_copy(chain_->stages[stage], begin)) return split_copy(stage, begin, end, polls, visit);
  split_matches(stage, begin, end, polls, visit);
}

bool ChainSplitter::needs_copy(const Stage& stage, const Byte* begin) const {
  return !stage.space.empty() || (stage.adds_space && *begin != ' ');
}

void ChainSplitter::split_matches(std::size_t stage, const Byte* begin, const Byte* end, PollInLoop& polls,
                                  const Visit& visit) {
  const bool invert = chain_->stages[stage].invert;
  const auto on_piece = [&](const Byte* from, const Byte* to) { split_by(stage + 1, from, to, polls, visit); };
  Joiner joiner(chain_->stages[stage].behavior, on_piece);
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

// Splits a copy of a piece of the text, with a space before it or spaces written differently, in visits of its own.
void ChainSplitter::split_copy(std::size_t stage, const Byte* begin, const Byte* end, PollInLoop& polls,
                               const Visit& visit) {
  flush(visit);
  const auto& [expression, behavior, invert, adds_space, only_first, written] = chain_->stages[stage];
  const auto size = static_cast<std::size_t>(end - begin);
  const std::string_view space = written.empty() ? std::string_view(" ") : std::string_view(written);
  const bool begins_with_it = size >= space.size() && std::memcmp(begin, space.data(), space.size()) == 0;
  const bool is_added = adds_space && (is_first_ || !only_first) && *begin != ' ' && !begins_with_it;
  spaced_.clear();
  if (is_added) spaced_.insert(spaced_.end(), space.begin(), space.end());
  for (const Byte* at = begin; at < end;) {
    const void* found = written.empty() ? nullptr : std::memchr(at, ' ', static_cast<std::size_t>(end - at));
    const Byte* const next = found == nullptr ? end : static_cast<const Byte*>(found);
    spaced_.insert(spaced_.end(), at, next);
    if (next == end) break;
    spaced_.insert(spaced_.end(), space.begin(), space.end());
    at = next + 1;
  }
  copy_ = {spaced_.data(), spaced_.data() + spaced_.size(), begin - text_ - 1};
  split_matches(stage, copy_->begin, copy_->end, polls, visit);
  flush(visit);
  copy_.reset();
  constexpr std::size_t kKept = std::size_t{1} << 16;  // bytes; a text that is one piece may have gigabytes
  if (spaced_.capacity() > kKept) spaced_ = std::vector<Byte>();
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
