#include "expressions/backtracker.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace hf_bpe {

Backtracker::Backtracker(const Expression& expression, std::size_t max_bytes)
    : expression_(expression), max_bytes_(max_bytes) {
  for (const Instruction& each : expression.code()) {
    splits_.push_back(each.opcode == Opcode::kSplit ? static_cast<std::uint32_t>(count_++) : 0);
  }
}

void Backtracker::reset(const Byte* begin, const Byte* end) {
  begin_ = begin;
  end_ = end;
  blocks_.clear();
  first_block_ = 0;
  bytes_ = 0;
  ends_.clear();
  last_place_ = 0;
  const auto size = static_cast<std::size_t>(end - begin);
  if (size >= std::numeric_limits<std::uint32_t>::max()) reserve(max_bytes_ + 1);
  blocks_.resize(size / kBlock + 1);
}

// Counts memory that is about to be used.
void Backtracker::reserve(std::size_t bytes) {
  bytes_ += bytes;
  if (bytes_ <= max_bytes_) return;
  throw ExpressionTooCostly("the pattern needs more than " + std::to_string(max_bytes_ >> 20) +
                            " MB to split a text; expected an expression with fewer choices, or a shorter text");
}

// Frees what is known of positions before an attempt. Only look-behind returns to them; it may learn it again.
void Backtracker::forget_before(const Byte* at) {
  for (const std::size_t block = place_of(at) / kBlock; first_block_ < block; ++first_block_) {
    bytes_ -= blocks_[first_block_].size() * sizeof(std::uint64_t);
    blocks_[first_block_] = Block();  // = {} would keep its memory
  }
  if (!ends_.empty() && last_place_ < place_of(at)) {
    bytes_ -= ends_.size() * kBytesOfEnd;
    ends_.clear();
  }
}

Backtracker::Block& Backtracker::block_of(std::uint32_t place) {
  Block& block = blocks_[place / kBlock];
  if (block.empty()) {
    const std::size_t positions = std::min(kBlock, static_cast<std::size_t>(end_ - begin_) + 1);
    const std::size_t words = positions * count_ / 32 + 1;
    reserve(words * sizeof(std::uint64_t));
    block.assign(words, 0);
  }
  return block;
}

Backtracker::Result Backtracker::result_of(std::uint32_t split, std::uint32_t place) {
  const std::size_t index = place % kBlock * count_ + split;
  return static_cast<Result>(block_of(place)[index / 32] >> index % 32 * 2 & 3);
}

void Backtracker::note(std::uint32_t split, std::uint32_t place, Result result) {
  const std::size_t index = place % kBlock * count_ + split;
  block_of(place)[index / 32] |= static_cast<std::uint64_t>(result) << index % 32 * 2;
}

void Backtracker::open(Kind kind, std::uint32_t instruction, const Byte* at) {
  if (choices_.size() == choices_.capacity()) {
    const std::size_t more = std::max<std::size_t>(choices_.capacity(), 256);
    if ((choices_.capacity() + more) * sizeof(Choice) > max_bytes_) reserve(max_bytes_ + 1);
    choices_.reserve(choices_.capacity() + more);
  }
  choices_.push_back({place_of(at), instruction, kind});
}

const Byte* Backtracker::step_back(const Byte* at, std::uint32_t characters) const {
  for (; characters > 0; --characters) {
    if (at == begin_) return nullptr;
    at -= expression_.alphabet().length_before(begin_, at);
  }
  return at;
}

// Returns to the last choice; the result is where to go on.
std::uint32_t Backtracker::fail(const Byte*& at) {
  while (!choices_.empty()) {
    Choice& last = choices_.back();
    const Instruction& each = expression_.code()[last.instruction];
    at = begin_ + last.place;
    if (last.kind == kFirstWay) {
      last.kind = kOtherWay;
      return each.b;
    }
    if (last.kind == kOtherWay) note(splits_[last.instruction], last.place, kFails);
    const bool is_negated_look = last.kind == kBody && each.opcode == Opcode::kLook && each.c == 1;
    if (last.kind == kBody) bodies_.pop_back();
    choices_.pop_back();
    if (is_negated_look) return each.b;
  }
  return kFailed;
}

// Ends the match, or the body of the last LOOK or ATOMIC; the result is where to go on.
std::uint32_t Backtracker::accept(const Byte*& at) {
  if (bodies_.empty()) return kMatched;
  const std::size_t body = bodies_.back();
  const Choice entry = choices_[body];
  const Instruction& each = expression_.code()[entry.instruction];
  // The splits that are open led here.
  for (std::size_t i = body + 1; i < choices_.size(); ++i) {
    const std::uint32_t split = splits_[choices_[i].instruction], place = choices_[i].place;
    note(split, place, kMatches);
    if (each.opcode != Opcode::kAtomic) continue;
    reserve(kBytesOfEnd);
    ends_[key_of(split, place)] = place_of(at);
    last_place_ = std::max(last_place_, place);
  }
  bodies_.pop_back();
  choices_.resize(body);
  const Byte* const from = begin_ + entry.place;
  if (each.opcode == Opcode::kAtomic) return at == from ? each.c : each.b;
  at = from;
  return each.c == 0 ? each.b : kFailed;
}

// What is known of a split at a position. If it matches, `at` becomes the end of the body that it is in; nothing is
// known if the end was forgotten.
Backtracker::Result Backtracker::recall(std::uint32_t split, const Byte*& at) {
  const Result known = result_of(split, place_of(at));
  if (known == kUnknown || known == kFails) return known;
  if (bodies_.empty()) return kUnknown;  // not in a program of the compiler, whose bodies share nothing
  if (expression_.code()[choices_[bodies_.back()].instruction].opcode == Opcode::kAtomic) {
    const auto found = ends_.find(key_of(split, place_of(at)));
    if (found == ends_.end()) return kUnknown;
    at = begin_ + found->second;
  }
  return kMatches;
}

const Byte* Backtracker::match(const Byte* at, PollInLoop& polls) {
  const Alphabet& alphabet = expression_.alphabet();
  forget_before(at);
  choices_.clear();
  bodies_.clear();
  for (std::uint32_t next = expression_.start();;) {
    polls();
    if (next == kFailed && (next = fail(at)) == kFailed) return nullptr;
    if (next == kMatched) return at;
    const Instruction& each = expression_.code()[next];
    switch (each.opcode) {
      case Opcode::kAccept:
        next = accept(at);
        break;
      case Opcode::kCharacter: {
        const TypedCharacter character = at == end_ ? TypedCharacter{alphabet.edge(), 0} : alphabet.at(at, end_);
        next = at != end_ && alphabet.is_in(each.a, character.type) ? each.b : kFailed;
        at += character.length;
        break;
      }
      case Opcode::kSplit:
        switch (recall(splits_[next], at)) {
          case kUnknown:
            open(kFirstWay, next, at);
            next = each.a;
            break;
          case kFails:
            next = kFailed;
            break;
          case kMatches:
            next = accept(at);
            break;
        }
        break;
      case Opcode::kCheck: {
        const unsigned after = at == end_ ? alphabet.edge() : alphabet.at(at, end_).type;
        const bool passes = alphabet.is_in(each.b, after) &&
                            (!expression_.looks_back() || alphabet.is_in(each.a, alphabet.before(begin_, at)));
        next = passes ? each.c : kFailed;
        break;
      }
      case Opcode::kLook:
      case Opcode::kAtomic: {
        bodies_.push_back(choices_.size());
        open(kBody, next, at);
        const Byte* const from = step_back(at, each.opcode == Opcode::kLook ? each.d : 0);
        next = from == nullptr ? kFailed : each.a;
        if (from != nullptr) at = from;
        break;
      }
    }
  }
}

}  // namespace hf_bpe
