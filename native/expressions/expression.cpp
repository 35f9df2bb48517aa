#include "expressions/expression.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

namespace hf_bpe {
namespace {

constexpr std::uint32_t kCodes = 0x110000;
constexpr std::uint32_t kInvalidByte = 0xDC80;  // the first of 128 characters that stand for bytes

// The printable character that ByteLevel writes for a byte.
std::uint32_t printable_of(unsigned byte) {
  const auto is_printable = [](unsigned each) { return (each > 0x20 && each < 0x7F) || (each > 0xA0 && each != 0xAD); };
  if (is_printable(byte)) return byte;
  std::uint32_t code = 0x100;
  for (unsigned each = 0; each < byte; ++each) code += !is_printable(each);
  return code;
}

// Where all sets have the same members from one code point to the next.
std::vector<std::uint32_t> interval_starts(const std::vector<CharacterTest>& tests) {
  std::vector<std::uint32_t> starts = {0, kInvalidByte, kInvalidByte + 0x80};
  for (const CharacterTest& test : tests) {
    for (const CodeRange& range : test.ranges) {
      starts.push_back(range.first);
      if (range.last + 1 < kCodes) starts.push_back(range.last + 1);
    }
  }
  std::sort(starts.begin(), starts.end());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  return starts;
}

void check_test(const CharacterTest& test) {
  std::uint32_t next = 0;
  for (const CodeRange& range : test.ranges) {
    if (range.first < next || range.last < range.first || range.last >= kCodes) {
      throw std::invalid_argument("expression: expected sorted ranges of code points");
    }
    next = range.last + 1;
  }
}

}  // namespace

Alphabet::Alphabet(const std::vector<CharacterTest>& tests, bool is_mapped) {
  for (const CharacterTest& test : tests) check_test(test);
  const std::vector<std::uint32_t> starts = interval_starts(tests);
  // Each set splits the classes so far.
  std::vector<std::uint32_t> types(starts.size(), 0);
  classes_ = 1;
  for (const CharacterTest& test : tests) {
    std::map<std::pair<std::uint32_t, bool>, std::uint32_t> split;
    auto range = test.ranges.begin();
    for (std::size_t i = 0; i < starts.size(); ++i) {
      while (range != test.ranges.end() && range->last < starts[i]) ++range;
      const bool is_member = range != test.ranges.end() && range->first <= starts[i];
      types[i] = split.try_emplace({types[i], is_member}, static_cast<std::uint32_t>(split.size())).first->second;
    }
    classes_ = static_cast<unsigned>(split.size());
  }
  if (classes_ >= kSeveralBytes) throw std::invalid_argument("expression: too many classes of characters");

  members_.assign(tests.size() * (classes_ + 1), false);
  for (std::size_t number = 0; number < tests.size(); ++number) {
    auto range = tests[number].ranges.begin();
    const auto end = tests[number].ranges.end();
    for (std::size_t i = 0; i < starts.size(); ++i) {
      while (range != end && range->last < starts[i]) ++range;
      if (range != end && range->first <= starts[i]) members_[number * (classes_ + 1) + types[i]] = true;
    }
    members_[number * (classes_ + 1) + edge()] = tests[number].has_edge;
  }

  std::map<std::array<std::uint16_t, kBlock>, std::uint16_t> numbers;
  std::vector<std::uint16_t> uniform(classes_, kSeveralBytes);  // by class, a block of nothing else
  for (std::uint32_t first = 0, interval = 0; first < kCodes; first += kBlock) {
    while (interval + 1 < starts.size() && starts[interval + 1] <= first) ++interval;
    const bool is_uniform = interval + 1 == starts.size() || starts[interval + 1] >= first + kBlock;
    if (is_uniform && uniform[types[interval]] != kSeveralBytes) {
      block_of_.push_back(uniform[types[interval]]);
      continue;
    }
    std::array<std::uint16_t, kBlock> block;
    for (std::uint32_t i = 0; i < kBlock; ++i) {
      while (interval + 1 < starts.size() && starts[interval + 1] <= first + i) ++interval;
      block[i] = static_cast<std::uint16_t>(types[interval]);
    }
    const auto [entry, is_new] = numbers.try_emplace(block, static_cast<std::uint16_t>(blocks_.size()));
    if (is_new) blocks_.push_back(block);
    if (is_uniform) uniform[types[interval]] = entry->second;
    block_of_.push_back(entry->second);
  }
  invalid_ = static_cast<std::uint16_t>(of(kInvalidByte));
  for (unsigned byte = 0; byte < 256; ++byte) {
    const std::uint32_t code = is_mapped ? printable_of(byte) : byte;
    of_byte_[byte] = is_mapped || byte < 0x80 ? static_cast<std::uint16_t>(of(code)) : kSeveralBytes;
  }
}

unsigned Alphabet::length_before(const Byte* begin, const Byte* at) const {
  if (of_byte_[at[-1]] != kSeveralBytes) return 1;
  const auto most = static_cast<unsigned>(std::min<std::ptrdiff_t>(at - begin, 4));
  for (unsigned length = 1; length <= most; ++length) {
    if (is_continuation(at[-static_cast<int>(length)])) continue;
    return this->at(at - length, at).length == length ? length : 1;
  }
  return 1;
}

Expression::Expression(Program program, bool is_mapped)
    : program_(std::move(program)), alphabet_(program_.tests, is_mapped) {
  check();
  for (const Instruction& each : code()) {
    if (each.opcode == Opcode::kLook || each.opcode == Opcode::kAtomic) is_regular_ = false;
    if (each.opcode != Opcode::kCheck) continue;
    for (unsigned type = 0; type <= alphabet_.edge(); ++type) looks_back_ |= !alphabet_.is_in(each.a, type);
  }
  may_begin_ = first_classes();
  may_end_ = last_classes();
  for (unsigned value = 0; value < is_passed_.size(); ++value) {
    const Byte byte = static_cast<Byte>(value);
    is_passed_[value] = alphabet_.is_character(byte) && !may_begin_[alphabet_.at(&byte, &byte + 1).type];
  }
}

// Every operand is an instruction or a set, and no loop passes nothing, in which backtracking would not end.
void Expression::check() const {
  const std::size_t count = code().size(), sets = program_.tests.size();
  const auto is_valid = [&](const Instruction& each) {
    switch (each.opcode) {
      case Opcode::kAccept:
        return true;
      case Opcode::kCharacter:
        return each.a < sets && each.b < count;
      case Opcode::kSplit:
        return each.a < count && each.b < count;
      case Opcode::kCheck:
        return each.a < sets && each.b < sets && each.c < count;
      case Opcode::kLook:
        return each.a < count && each.b < count && each.c < 2;
      case Opcode::kAtomic:
        return each.a < count && each.b < count && each.c < count;
    }
    return false;
  };
  if (program_.start >= count || !std::all_of(code().begin(), code().end(), is_valid)) {
    throw std::invalid_argument("expression: expected operands within the program");
  }
  enum : std::uint8_t { kNew, kOpen, kDone };
  std::vector<std::uint8_t> states(count, kNew);
  std::vector<std::uint32_t> path;
  for (std::uint32_t first = 0; first < count; ++first) {
    if (states[first] == kNew) path.push_back(first);
    while (!path.empty()) {
      const std::uint32_t at = path.back();
      if (states[at] != kNew) {
        states[at] = kDone;
        path.pop_back();
        continue;
      }
      states[at] = kOpen;
      const auto follow = [&](std::uint32_t next) {
        if (states[next] == kOpen) throw std::invalid_argument("expression: expected no loop without a character");
        if (states[next] == kNew) path.push_back(next);
      };
      const Instruction& each = code()[at];
      if (each.opcode == Opcode::kSplit || each.opcode == Opcode::kLook) follow(each.a), follow(each.b);
      if (each.opcode == Opcode::kCheck) follow(each.c);
      // What follows a body that was not empty is after a character.
      if (each.opcode == Opcode::kAtomic) follow(each.a), follow(each.c);
    }
  }
}

std::vector<bool> Expression::first_classes() const {
  std::vector<bool> first(alphabet_.edge() + 1, false), seen(code().size(), false);
  std::vector<std::uint32_t> open = {start()};
  while (!open.empty()) {
    const std::uint32_t at = open.back();
    open.pop_back();
    if (seen[at]) continue;
    seen[at] = true;
    const Instruction& each = code()[at];
    switch (each.opcode) {
      case Opcode::kAccept:
        first.assign(first.size(), true);
        break;
      case Opcode::kCharacter:
        for (unsigned type = 0; type < alphabet_.classes(); ++type) {
          if (alphabet_.is_in(each.a, type)) first[type] = true;
        }
        break;
      case Opcode::kSplit:
        open.insert(open.end(), {each.a, each.b});
        break;
      case Opcode::kCheck:
        open.push_back(each.c);
        break;
      // A body that must match here limits what may follow; one that must not, or that matches before, does not.
      case Opcode::kLook:
        open.push_back(each.c == 0 && each.d == 0 ? each.a : each.b);
        break;
      case Opcode::kAtomic:
        open.push_back(each.a);
        break;
    }
  }
  return first;
}

std::vector<bool> Expression::last_classes() const {
  std::vector<bool> last(alphabet_.edge() + 1, !is_regular_);
  if (!is_regular_) return last;
  // The instructions from which the end is reached without a character: found backwards, until there are no more.
  std::vector<bool> accepts(code().size(), false);
  for (bool is_done = false; !is_done;) {
    is_done = true;
    for (std::size_t at = code().size(); at-- > 0;) {
      const Instruction& each = code()[at];
      const bool reaches = each.opcode == Opcode::kAccept ||
                           (each.opcode == Opcode::kSplit && (accepts[each.a] || accepts[each.b])) ||
                           (each.opcode == Opcode::kCheck && accepts[each.c]);
      if (reaches && !accepts[at]) {
        accepts[at] = true;
        is_done = false;
      }
    }
  }
  if (accepts[start()]) last.assign(last.size(), true);
  for (const Instruction& each : code()) {
    if (each.opcode != Opcode::kCharacter || !accepts[each.b]) continue;
    for (unsigned type = 0; type < alphabet_.classes(); ++type)
      last[type] = last[type] || alphabet_.is_in(each.a, type);
  }
  return last;
}

}  // namespace hf_bpe
