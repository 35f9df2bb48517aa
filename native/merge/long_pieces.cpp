#include "merge/long_pieces.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "merge/word_ids.hpp"

namespace hf_bpe {

namespace {

constexpr std::size_t kLongestStretch = 64;  // tokens; longer ones take time that grows with their square

bool is_white(Byte byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

}  // namespace

std::unique_ptr<const LongPieces> LongPieces::make(const Vocabulary& vocabulary, const PollFunction& poll) {
  const auto& merges = vocabulary.merges();
  PollInLoop polls(poll);
  std::vector<std::pair<Byte, Byte>> ends;  // the first and last byte of each symbol
  ends.reserve(256 + merges.size());
  for (int byte = 0; byte < 256; ++byte) ends.emplace_back(static_cast<Byte>(byte), static_cast<Byte>(byte));
  Rank first_join = static_cast<Rank>(merges.size());
  const auto crosses = [](Byte left, Byte right) { return !is_white(left) && right == ' '; };
  for (Rank rank = 0; rank < merges.size(); ++rank) {
    const auto [left, right] = merges[rank];
    if (vocabulary.result(rank) != ends.size() || left >= ends.size() || right >= ends.size()) return nullptr;
    polls();
    if (first_join == merges.size() && crosses(ends[left].second, ends[right].first)) first_join = rank;
    ends.emplace_back(ends[left].first, ends[right].second);
  }
  if (first_join == merges.size() || first_join < merges.size() / 4) return nullptr;

  std::vector<std::string> bytes(256);
  for (Symbol byte = 0; byte < 256; ++byte) bytes[byte] = static_cast<char>(byte);
  for (const auto& [left, right] : merges) {
    polls(bytes[left].size() + bytes[right].size());
    bytes.push_back(bytes[left] + bytes[right]);
  }
  std::vector<std::uint32_t> sizes;
  Vocabulary::Tokens tokens;
  for (Symbol symbol = 0; symbol < bytes.size(); ++symbol) {
    sizes.push_back(static_cast<std::uint32_t>(bytes[symbol].size()));
    if (symbol < 256 + first_join) tokens.emplace_back(symbol, bytes[symbol]);
  }
  std::vector<Vocabulary::Merge> before;
  for (Rank rank = 0; rank < first_join; ++rank)
    before.push_back({merges[rank].first, merges[rank].second, 256 + rank});
  std::unique_ptr<LongPieces> made(new LongPieces(vocabulary, Vocabulary(tokens, before), std::move(sizes)));

  made->cuts_.assign(1 << 16, true);
  std::vector<std::pair<Symbol, Symbol>> edges;  // the first and last token of a word in each symbol
  for (Symbol symbol = 0; symbol < 256; ++symbol) edges.emplace_back(symbol, symbol);
  made->shift_ = 64 - static_cast<unsigned>(std::bit_width(32 * (merges.size() - first_join) | 1023));
  made->joins_.assign(std::size_t{1} << (64 - made->shift_) >> 6, 0);
  for (Rank rank = 0; rank < merges.size(); ++rank) {
    const auto [left, right] = merges[rank];
    const Symbol symbol = 256 + rank;
    if (rank < first_join) {
      made->cuts_[ends[left].second << 8 | ends[right].first] = false;
      edges.emplace_back(symbol, symbol);
    } else {
      const std::uint64_t bit = made->bit_of(edges[left].second, edges[right].first);
      made->joins_[bit / 64] |= std::uint64_t{1} << (bit % 64);
      edges.emplace_back(edges[left].first, edges[right].second);
    }
  }
  return made;
}

class LongPieceMerger::Words : public WordIds<std::uint32_t> {
 public:
  using WordIds::WordIds;
};

LongPieceMerger::LongPieceMerger(const LongPieces& pieces, Simd simd)
    : pieces_(pieces), words_(std::make_unique<Words>(pieces.words(), pieces.backtracking_of_words(), nullptr, simd)) {}
LongPieceMerger::~LongPieceMerger() = default;

void LongPieceMerger::merge(const Byte* piece, std::size_t length, std::vector<Symbol>& symbols,
                            const std::function<void(const Byte*, std::size_t)>& merge_stretch,
                            const PollFunction& poll) {
  constexpr std::size_t kWords = 1024;
  const Byte* const end = piece + length;
  const Byte* ends[kWords];
  PollInLoop polls(poll);
  const Byte* stretch = piece;  // where the open stretch begins
  std::size_t open = 0;         // its tokens, at the beginning of `tokens_`
  const auto close = [&](std::size_t from, std::size_t to, const Byte* stretch_end) {
    if (to - from == 1) {
      symbols.push_back(tokens_[from]);
    } else if (to - from <= kLongestStretch) {
      join(from, to, symbols);
    } else {
      merge_stretch(stretch, static_cast<std::size_t>(stretch_end - stretch));
    }
    stretch = stretch_end;
  };
  for (const Byte* at = piece; at < end;) {
    const Byte* const begin = at;
    std::size_t count = 0;
    for (const Byte* next = at + 1; count < kWords; ++next) {
      if (next < end && !pieces_.is_cut(next[-1], *next)) continue;
      ends[count++] = next;
      at = next;
      if (next >= end) break;
    }
    polls(static_cast<std::size_t>(at - begin));
    tokens_.resize(open + static_cast<std::size_t>(at - begin) + Words::kSlack);
    const Symbol* const tokens_end = words_->encode(begin, ends, count, end, tokens_.data() + open, poll, NoDraws{});
    const auto size = static_cast<std::size_t>(tokens_end - tokens_.data());
    std::size_t from = 0;
    const Byte* place = begin;  // of the end of the token before `i`
    for (std::size_t i = open; i < size; ++i) {
      if (i > from && !pieces_.may_join(tokens_[i - 1], tokens_[i])) {
        close(from, i, place);
        from = i;
      }
      place += pieces_.size(tokens_[i]);
    }
    open = size - from;
    if (from > 0)
      std::copy(tokens_.begin() + static_cast<std::ptrdiff_t>(from),
                tokens_.begin() + static_cast<std::ptrdiff_t>(size), tokens_.begin());
  }
  if (open > 0) close(0, open, end);
}

// Appends the symbols of a stretch, whose tokens are merged by rank, leftmost first.
void LongPieceMerger::join(std::size_t from, std::size_t to, std::vector<Symbol>& symbols) {
  const Vocabulary& vocabulary = pieces_.vocabulary();
  Symbol* const tokens = tokens_.data() + from;
  std::size_t count = to - from;
  Rank ranks[kLongestStretch];
  for (std::size_t i = 0; i + 1 < count; ++i) ranks[i] = vocabulary.rank(tokens[i], tokens[i + 1]);
  while (count > 1) {
    const Rank* const least = std::min_element(ranks, ranks + count - 1);
    if (*least == Vocabulary::kNoMerge) break;
    const auto at = static_cast<std::size_t>(least - ranks);
    tokens[at] = vocabulary.result(*least);
    std::copy(tokens + at + 2, tokens + count, tokens + at + 1);
    std::copy(ranks + at + 1, ranks + count - 1, ranks + at);
    --count;
    if (at + 1 < count) ranks[at] = vocabulary.rank(tokens[at], tokens[at + 1]);
    if (at > 0) ranks[at - 1] = vocabulary.rank(tokens[at - 1], tokens[at]);
  }
  symbols.insert(symbols.end(), tokens, tokens + count);
}

}  // namespace hf_bpe
