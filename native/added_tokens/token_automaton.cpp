#include "added_tokens/token_automaton.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string_view>

namespace hf_bpe {

TokenAutomaton::TokenAutomaton(const std::vector<std::string>& tokens) {
  for (const std::string& token : tokens) longest_ = std::max(longest_, token.size());
  make_fallbacks(make_trie(tokens));
}

TokenAutomaton::Siblings TokenAutomaton::make_trie(const std::vector<std::string>& tokens) {
  // Sorted by reversed bytes, so that common suffixes are adjacent: the order of the nodes.
  std::vector<std::uint32_t> order(tokens.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
    return std::lexicographical_compare(tokens[a].rbegin(), tokens[a].rend(), tokens[b].rbegin(), tokens[b].rend(),
                                        [](Byte left, Byte right) { return left < right; });
  });
  std::size_t max_nodes = 1;
  for (const std::string& token : tokens) max_nodes += token.size();
  nodes_.reserve(max_nodes);
  bytes_.reserve(max_nodes);
  tokens_.reserve(max_nodes);

  Siblings siblings;
  std::vector<std::uint32_t> path;  // the nodes of the preceding token, by depth
  const auto add_node = [&](Byte byte) {
    path.push_back(static_cast<std::uint32_t>(nodes_.size()));
    nodes_.emplace_back();
    bytes_.push_back(byte);
    tokens_.push_back(kNone);
  };
  add_node(0);
  children_.reset(0);
  std::string_view before;
  for (const std::uint32_t index : order) {
    const std::string_view token = tokens[index];
    const auto [end, _] = std::mismatch(token.rbegin(), token.rend(), before.rbegin(), before.rend());
    path.resize(static_cast<std::size_t>(end - token.rbegin()) + 1);
    for (auto at = end; at != token.rend(); ++at) {
      const std::uint32_t parent = path.back();
      add_node(static_cast<Byte>(*at));
      if (parent + 1 == path.back()) {
        nodes_[parent].set_has_first_child();
      } else {
        nodes_[parent].set_has_more_children();
        children_.insert(parent, static_cast<Byte>(*at), path.back());
        siblings.emplace_back(parent, path.back());
      }
    }
    tokens_[path.back()] = token.empty() ? kNone : index;
    before = token;
  }
  return siblings;
}

void TokenAutomaton::make_fallbacks(Siblings siblings) {
  std::sort(siblings.begin(), siblings.end());
  std::vector<std::uint32_t> level = {0}, below;
  const auto add = [&](std::uint32_t parent, std::uint32_t node) {
    const std::uint32_t fallback = parent == 0 ? 0 : next(nodes_[parent].fallback(), bytes_[node]);
    nodes_[node].set_fallback(fallback);
    if (tokens_[node] == kNone) tokens_[node] = tokens_[fallback];
    below.push_back(node);
  };
  for (; !level.empty(); level.swap(below), below.clear()) {
    for (const std::uint32_t parent : level) {
      if (nodes_[parent].has_first_child()) add(parent, parent + 1);
      if (!nodes_[parent].has_more_children()) continue;
      auto sibling = std::lower_bound(siblings.begin(), siblings.end(), std::pair(parent, std::uint32_t{0}));
      for (; sibling != siblings.end() && sibling->first == parent; ++sibling) add(parent, sibling->second);
    }
  }
}

std::uint32_t TokenAutomaton::next(std::uint32_t node, Byte byte) const {
  for (;;) {
    const std::uint32_t found = child(node, byte);
    if (found != kNone) return found;
    if (node == 0) return 0;
    node = nodes_[node].fallback();
  }
}

std::size_t TokenAutomaton::find_all(const Byte* from, const Byte* to, const Byte* end,
                                     std::vector<Match>& matches) const {
  if (longest_ == 0) return 0;
  const Byte* const last = to + std::min(static_cast<std::size_t>(end - to), longest_ - 1);
  std::uint32_t node = 0;
  const Byte* at = last;
  while (at > to) node = next(node, *--at);
  while (at > from) {
    node = next(node, *--at);
    if (tokens_[node] != kNone) matches.push_back({at, tokens_[node]});
  }
  return static_cast<std::size_t>(last - from);
}

const TokenAutomaton* LazyTokenAutomaton::get(std::size_t work) const {
  const TokenAutomaton* made = made_.load(std::memory_order_acquire);
  if (made != nullptr) return made;
  work += work_.fetch_add(work, std::memory_order_relaxed);
  for (const std::string& token : tokens_) {
    const std::size_t needed = kWorkOfByte * token.size();
    if (work < needed) return nullptr;
    work -= needed;
  }
  auto ours = std::make_unique<const TokenAutomaton>(tokens_);
  if (made_.compare_exchange_strong(made, ours.get(), std::memory_order_acq_rel)) return ours.release();
  return made;
}

}  // namespace hf_bpe
