// Encoding with a prefix cache: what texts begin with is looked up, the rest is encoded, and both are kept.
#include <algorithm>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "encode/encoder.hpp"
#include "encode/encoder_state.hpp"
#include "encode/utf8_reader.hpp"
#include "text/nfc.hpp"

namespace hf_bpe {

Encoder Encoder::with_prefix_cache(std::shared_ptr<PrefixCache> cache) const {
  Encoder other(*this);
  other.space_ = cache->new_space();
  other.prefix_cache_ = std::move(cache);
  return other;
}

Encoder Encoder::refusing_changes() const {
  Encoder other(*this);
  other.refuses_changes_ = true;
  return other;
}

bool Encoder::uses_prefix_cache(const EncodingOptions& options, std::size_t bytes) const {
  if (!prefix_cache_ || space_ == PrefixCache::kNoSpace || bytes < PrefixCache::kMinBytes) return false;
  // The bytes of characters without a token become one id after ids were counted.
  const bool counts_ids = !core_->vocabulary.lacks_bytes() || core_->pattern.characters() == nullptr;
  return counts_ids && !options.dropout && !options.continued;
}

PrefixCache::Context Encoder::prefix_context(const EncodingOptions& options) const {
  PrefixCache::Context context{space_, options.unknown_id.has_value() ? 1u : 0u, options.unknown_id.value_or(0)};
  static_assert(std::tuple_size_v<decltype(EncodingOptions::fields(options))> <= 7, "a context has 6 bits for flags");
  const auto add = [&](const auto& option) {
    if constexpr (std::is_same_v<decltype(option), const bool&>)
      context.flags = context.flags << 1 | (option ? 1u : 0u);
  };
  std::apply([&](const auto&... each) { (add(each), ...); }, EncodingOptions::fields(options));
  return context;
}

void Encoder::check_nfc(const Text& text) const {
  if (refuses_changes_ && !is_surely_nfc(text.begin, text.end, text.width)) throw MayNotBeNfc();
}

std::size_t Encoder::known_characters(const Text& text, const EncodingOptions& options) const {
  const auto bytes = static_cast<std::size_t>(text.end - text.begin);
  if (!uses_prefix_cache(options, bytes)) return 0;
  Utf8Reader reader(text, core_->simd);
  const Byte* const end = reader.unit_before(prefix_cache_->find(reader, prefix_context(options)).common);
  if (text.width != 0) return static_cast<std::size_t>(end - text.begin) / text.width;
  const auto characters =
      static_cast<std::size_t>(std::count_if(text.begin, end, [](Byte byte) { return !is_continuation(byte); }));
  return characters - (end != text.begin ? 1 : 0);  // the last one may continue otherwise
}

Encoder::Encoded Encoder::encode_with_prefix_cache(const std::vector<Text>& texts, const EncodingOptions& options,
                                                   const std::function<void(std::size_t)>& poll) const {
  struct Known {
    PrefixCache::Prefix prefix;
    Utf8Tail tail{};
    std::vector<TextCut> cuts{};
    std::size_t rest_ids = 0;  // of the parts before the next one
  };
  PrefixCache& cache = *prefix_cache_;
  const std::size_t deciding = bytes_that_decide(*added_tokens_);
  std::vector<Text> rests = texts;
  std::vector<bool> are_rests(texts.size());
  std::vector<std::optional<Known>> known(texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!uses_prefix_cache(options, static_cast<std::size_t>(texts[i].end - texts[i].begin))) {
      check_nfc(texts[i]);
      continue;
    }
    Utf8Reader reader(texts[i], core_->simd);
    Known& each = known[i].emplace(Known{cache.find(reader, prefix_context(options))});
    // What is known was in NFC, but its last character may be joined by what follows, and is the next one's to check.
    Text unknown = texts[i];
    unknown.begin = reader.unit_before(each.prefix.common);
    while (unknown.width == 0 && unknown.begin != texts[i].begin && unknown.begin != unknown.end &&
           is_continuation(*unknown.begin)) {
      --unknown.begin;
    }
    check_nfc(unknown);
    // Whether a place is a cut is decided by tokens that begin before it, too.
    const std::size_t end = each.prefix.end.text, around = 2 * deciding;
    each.tail = reader.tail(std::min(PrefixCache::tail_begin(each.prefix), end - std::min(end, around)));
    rests[i] = each.tail.text;
    rests[i].begin += end - each.tail.skipped;
    are_rests[i] = end > 0;
  }
  Results results = run(rests, options, true, poll, &are_rests);

  Encoded encoded;
  encoded.offsets = std::move(results.offsets);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    encoded.offsets[i + 1] += encoded.offsets[i] + static_cast<std::int64_t>(known[i] ? known[i]->prefix.end.ids : 0);
  }
  const bool is_all = results.ids.size() == 1 && std::find(are_rests.begin(), are_rests.end(), true) == are_rests.end();
  if (is_all) {
    encoded.ids = std::move(results.ids[0]);
  } else {
    const auto total = static_cast<std::size_t>(encoded.offsets.back());
    std::uint32_t* const out = encoded.ids.room(total);
    std::vector<std::uint32_t*> ends(texts.size());  // of what is copied of each text
    for (std::size_t i = 0; i < texts.size(); ++i) {
      ends[i] = out + encoded.offsets[i];
      if (known[i]) {
        known[i]->prefix.copy_ids(ends[i]);
        ends[i] += known[i]->prefix.end.ids;
      }
    }
    for (std::size_t number = 0; number < results.chunks.size(); ++number) {
      const auto& piece = results.by_chunk[number];
      const IdBuffer& ids = results.ids[piece.thread];
      const std::uint32_t* from = ids.begin() + piece.begin;
      const Chunk& chunk = results.chunks[number];
      for (std::size_t i = chunk.first_text; i <= chunk.last_text; ++i) {
        const bool is_last = i == chunk.last_text;
        const std::uint32_t* const to =
            is_last ? ids.begin() + piece.end : from + (out + encoded.offsets[i + 1] - ends[i]);
        ends[i] = std::copy(from, to, ends[i]);
        from = to;
      }
    }
    encoded.ids.set_end(out + total);
  }

  PollFunction poll_in_cuts = [&] { poll(0); };
  const CutRules rules = cut_rules(options, poll_in_cuts);
  std::optional<CutCheck> is_cut;
  for (std::size_t number = 0, checked = texts.size(); number < results.chunks.size(); ++number) {
    const Chunk& chunk = results.chunks[number];
    const auto& piece = results.by_chunk[number];
    for (const CutPlaces::Place& place : piece.places.found) {
      if (!known[place.text]) continue;
      Known& each = *known[place.text];
      const Text& text = each.tail.text;
      const std::size_t bytes = each.tail.skipped + static_cast<std::size_t>(place.at - text.begin);
      if (static_cast<std::size_t>(text.end - place.at) < deciding) continue;
      if (checked != place.text) is_cut.emplace(text, rules, place.at);
      checked = place.text;
      if (!(*is_cut)(place.at)) continue;
      each.cuts.push_back({bytes, each.prefix.end.ids + each.rest_ids + place.ids, bytes + deciding});
    }
    if (chunk.first_text == chunk.last_text && known[chunk.first_text]) {
      known[chunk.first_text]->rest_ids += piece.end - piece.begin;
    }
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (!known[i]) continue;
    cache.add(known[i]->prefix, known[i]->tail, encoded.ids.begin() + encoded.offsets[i], known[i]->cuts);
  }
  return encoded;
}

}  // namespace hf_bpe
