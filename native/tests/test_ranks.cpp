// Tests of the tables of ranks, which find the rank of a pair of symbols.
#include <map>
#include <optional>
#include <set>

#include "examples.hpp"
#include "merge/merging.hpp"
#include "naive.hpp"
#include "random.hpp"

using namespace naive;

namespace {

void check_small_ranks(const SmallRanks::Merges& merges) {
  const std::optional<SmallRanks> ranks = SmallRanks::make(merges, SmallRanks::kNone);
  CHECK(ranks);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> expected;
  for (std::uint32_t rank = 0; rank < merges.size(); ++rank) expected[merges[rank]] = rank;
  const auto check = [&](std::uint32_t first, std::uint32_t second) {
    const auto found = expected.find({first, second});
    const std::uint32_t rank = found == expected.end() ? SmallRanks::kNone : found->second;
    CHECK(ranks->find(ranks->key_of(first, second)) == rank);
    if (first > 0xFF || second > 0xFF) return;
    const Byte bytes[] = {static_cast<Byte>(first), static_cast<Byte>(second)};
    CHECK(ranks->rank_of_bytes(bytes) == rank);
  };
  for (const auto& [first, second] : merges) {
    check(first, second);
    check(second, first);
    check(first, 0xFFFF);
  }
  for (int i = 0; i < examples(20'000); ++i)
    check(static_cast<std::uint32_t>(draw(1 << 16)), static_cast<std::uint32_t>(draw(1 << 16)));
  for (std::uint32_t pair = 0; pair < 1 << 16; ++pair) check(pair >> 8, pair & 0xFF);
}

void test_small_ranks_are_exact_for_every_number_and_kind_of_merges() {
  for (const std::size_t size : {0, 1, 1'000, 50'000, 57'000, 57'001, 65'535}) {
    std::set<std::pair<std::uint32_t, std::uint32_t>> distinct;
    while (distinct.size() < size) distinct.emplace(draw(0xFFFF), draw(draw(2) ? 256 : 0xFFFF));
    SmallRanks::Merges merges(distinct.begin(), distinct.end());
    std::shuffle(merges.begin(), merges.end(), generator);
    check_small_ranks(merges);
  }
  SmallRanks::Merges rows, columns, diagonal, square;
  for (std::uint32_t i = 0; i < 0xFFFF; ++i) {
    rows.emplace_back(7, i);
    columns.emplace_back(i, 7);
    diagonal.emplace_back(i, i);
    square.emplace_back(i >> 8, i & 0xFF);
  }
  for (const SmallRanks::Merges& merges : {rows, columns, diagonal, square}) check_small_ranks(merges);
}

void test_models_of_65536_symbols_or_merges_have_no_small_ranks() {
  SmallRanks::Merges merges(0xFFFF);
  for (std::uint32_t i = 0; i < merges.size(); ++i) merges[i] = {i, 0};
  CHECK(SmallRanks::make(merges, 0xFFFF));
  CHECK(!SmallRanks::make(merges, 0x1'0000));
  merges.emplace_back(1, 1);
  CHECK(!SmallRanks::make(merges, 0xFFFF));
}

std::uint32_t min_slot(const std::uint32_t* slots, std::uint32_t inverted) {
  std::uint32_t least = ~std::uint32_t{0};
  for (std::size_t i = 0; i < CompactRanks::kSlots; ++i) least = std::min(least, slots[i] ^ inverted);
  return least;
}

void test_compact_ranks_are_never_too_high() {
  constexpr std::uint32_t kNone = CompactRanks::kNone;
  for (const std::size_t size : {0, 1, 15, 16, 17, 255, 256, 1'000, 70'000, 131'072}) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> expected;
    const std::uint32_t symbols = draw(2) ? 1 << 9 : 1 << 21;
    while (expected.size() < size) expected.emplace(std::pair{draw(symbols), draw(symbols)}, 0);
    CompactRanks::Merges merges;
    for (const auto& [pair, rank] : expected) merges.push_back(pair);
    std::shuffle(merges.begin(), merges.end(), generator);
    for (std::uint32_t rank = 0; rank < size; ++rank) expected[merges[rank]] = rank;
    std::vector<std::uint32_t> results;
    while (results.size() < size) results.push_back(static_cast<std::uint32_t>(draw(symbols - 1)));
    const CompactRanks ranks(merges, results, draw_from<int>({1, 12, 31}));
    const auto check = [&](std::uint32_t first, std::uint32_t second) {
      const auto found = expected.find({first, second});
      const std::uint32_t rank = found == expected.end() ? kNone : found->second;
      const std::uint32_t likely = ranks.find(ranks.key_of(first, second), min_slot);
      CHECK(likely <= rank);
      CHECK(ranks.find_exact(first, second) == rank);
      CHECK(likely == kNone || likely < size);
      const std::uint32_t result = likely == rank && rank != kNone ? results[rank] : CompactRanks::kNoSymbol;
      CHECK(likely == kNone || ranks.result(likely, first, second) == result);
    };
    for (const auto& [first, second] : merges) {
      check(first, second);
      check(second, first);
    }
    for (int i = 0; i < examples(5'000); ++i)
      check(static_cast<std::uint32_t>(draw(symbols)), static_cast<std::uint32_t>(draw(symbols)));
  }
}

}  // namespace

int main() {
  test_small_ranks_are_exact_for_every_number_and_kind_of_merges();
  test_models_of_65536_symbols_or_merges_have_no_small_ranks();
  test_compact_ranks_are_never_too_high();
}
