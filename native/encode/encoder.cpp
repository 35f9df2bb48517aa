#include "encode/encoder.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "encode/encoder_state.hpp"
#include "encode/text_group.hpp"
#include "merge/merging.hpp"

namespace hf_bpe {

namespace {

// Whether a space is put before a segment of text that begins with `first`, at the beginning of the text if `is_first`;
// if it `is_begun`, the segment has a beginning before this one.
bool puts_space(PrefixSpace prefix, Byte first, bool is_first, bool is_begun) {
  if (prefix == PrefixSpace::kFirstUnlessSpace) return is_first && first != ' ';
  return !is_begun && (prefix == PrefixSpace::kAlways || (prefix == PrefixSpace::kUnlessSpace && first != ' '));
}

}  // namespace

Encoder::Encoder(Vocabulary vocabulary, Pattern pattern, Simd simd, std::size_t chunk_bytes)
    : Encoder(std::make_shared<Core>(std::move(vocabulary), std::move(pattern), simd, chunk_bytes), {}) {}
Encoder::Encoder(std::shared_ptr<Core> core, const std::vector<AddedToken>& tokens, bool puts_prefix)
    : core_(std::move(core)), prefixes_(puts_prefix) {
  const CharacterCuts* const characters = core_->pattern.characters();
  const bool keeps_spaces = characters != nullptr && characters->rules().keeps_spaces;
  added_tokens_ = std::make_shared<const AddedTokens>(tokens, TokenFinder::kPatience, keeps_spaces);
}
Encoder::~Encoder() = default;

Encoder Encoder::with_added_tokens(const std::vector<AddedToken>& tokens) const { return {core_, tokens, prefixes_}; }

Encoder Encoder::without_prefix() const {
  Encoder other(*this);
  other.prefixes_ = false;
  other.space_ = PrefixCache::kNoSpace;
  return other;
}

CutRules Encoder::cut_rules(const EncodingOptions& options, const PollFunction& poll) const {
  return {core_->pattern, *added_tokens_, options, poll};
}

void Encoder::encode(Worker& worker, std::size_t index, const Byte* text, Part part, const Byte* readable,
                     const EncodingOptions& options, IdBuffer& ids, const PollFunction& poll,
                     OffsetCollector* collector, bool waits, CutPlaces* places) const {
  constexpr std::size_t kSlack = WordIds<std::uint16_t>::kSlack;
  std::optional<TextDraws> draws;
  if (options.dropout) draws = options.dropout->of_text(index);
  const std::size_t before = ids.size();
  const std::size_t places_before = places != nullptr ? places->found.size() : 0;
  if (places != nullptr) places->start(index, part.begin, readable, before);
  PollInLoop polls(poll);
  const CharacterCuts* const characters = core_->pattern.characters();
  // Encodes a segment of text without added tokens, whose first byte is at `offset` in the part.
  const auto on_words = [&](const Byte* begin, const Byte* end, const Byte* readable_segment, std::ptrdiff_t offset,
                            std::ptrdiff_t lowest) {
    worker.splitter.split(begin, end, poll, [&](const Byte* words, const Byte* const* ends, std::size_t count) {
      std::uint32_t* out = ids.room(static_cast<std::size_t>(ends[count - 1] - words) + kSlack);
      const auto* copy = worker.splitter.copy();  // by a chain that puts spaces
      const Byte* const may_read = copy ? copy->end : readable_segment;
      const std::ptrdiff_t at = offset + (copy ? copy->offset + (words - copy->begin) : words - begin);
      if (draws) {  // BPE-dropout
        const TextDraws from_here = draws->at(words, part.begin - text + at);
        ids.set_end(worker.encode(words, ends, count, may_read, out, poll, from_here));
      } else if (waits) {  // new words of short texts are merged together, later
        ids.set_end(worker.encode_later(words, ends, count, may_read, out, poll));
      } else if (places != nullptr && words >= part.begin && words < part.end) {  // for the cache, and not in a copy
        const Byte* from = words;
        for (std::size_t done = 0, more; done < count; done += more, from = ends[done - 1]) {
          more = places->words_to_next(ends + done, count - done);
          ids.set_end(worker.encode(from, ends + done, more, may_read, ids.begin() + ids.size(), poll));
          const Byte* const at = ends[done + more - 1];
          if (!places->is_due(at)) continue;
          if (allows_cut(core_->pattern, part.begin, at, readable)) {
            places->add(at, ids.size());
          } else {
            places->skip(at);
          }
        }
      } else {  // the usual way
        ids.set_end(worker.encode(words, ends, count, may_read, out, poll));
      }
      if (collector != nullptr) {
        const std::ptrdiff_t least = copy ? std::max(lowest, offset + copy->offset + 1) : lowest;
        collector->add_words(at, least, words, ends, count, out, ids.end());
      }
      polls(count);
    });
  };
  const auto on_text = [&](const Byte* begin, const Byte* end) {
    const std::ptrdiff_t lowest = begin - part.begin;  // a prefix has the offsets of the first character
    if (collector != nullptr) collector->begin_segment();
    if (characters != nullptr) {
      if (draws) throw std::invalid_argument("dropout: is not available for a model whose alphabet is characters");
      const bool is_first = begin == text && !options.continued;
      const bool is_begun = begin == part.begin && !is_first;  // its beginning is in the part before
      if (!prefixes_ || !puts_space(characters->rules().prefix, *begin, is_first, is_begun)) {
        return on_words(begin, end, readable, lowest, lowest);
      }
      // Only the first word is copied. What follows it is cut in the same way without it.
      const Byte* first_end;
      characters->scan(begin, end, &first_end, 1);
      std::string& word = waits ? worker.prefixed_waiting.emplace_back() : worker.prefixed;
      word.assign(1, ' ').append(begin, first_end);
      const auto* const copied = reinterpret_cast<const Byte*>(word.data());
      on_words(copied, copied + word.size(), copied + word.size(), lowest - 1, lowest);
      if (first_end != end) on_words(first_end, end, readable, first_end - part.begin, lowest);
      return;
    }
    if (!options.change_segment(*begin)) return on_words(begin, end, readable, lowest, lowest);
    options.write_segment(begin, end, worker.prefixed);
    const auto* const changed = reinterpret_cast<const Byte*>(worker.prefixed.data());
    const Byte* const changed_end = changed + worker.prefixed.size();
    on_words(changed, changed_end, changed_end, lowest - (changed_end - changed - (end - begin)), lowest);
  };
  const auto on_token = [&](std::uint32_t id, const Byte* begin, const Byte* end) {
    if (places != nullptr && places->is_due_before_token(begin)) places->add(begin, ids.size());
    ids.push(id);
    if (collector != nullptr) collector->add_token(begin - part.begin, end - part.begin);
    polls();
  };
  added_tokens_->split(part.begin, part.end, options.split_special_tokens, on_text, on_token);
  if (!core_->vocabulary.lacks_bytes()) return;
  if (characters != nullptr) {
    write_unknown(before, ids, characters->rules(), collector);
    return;
  }
  if (core_->vocabulary.drops_missing_bytes()) {
    const auto is_missing = [](std::uint32_t id) { return id >= Vocabulary::kMissing; };
    if (collector != nullptr) collector->drop(ids.begin() + before, ids.end(), is_missing);
    if (places != nullptr) places->drop_ids(ids.begin() + before, is_missing, places_before);
    ids.set_end(std::remove_if(ids.begin() + before, ids.begin() + ids.size(), is_missing));
    return;
  }
  for (std::uint32_t* id = ids.begin() + before; id != ids.end(); ++id) {
    if (*id < Vocabulary::kMissing) continue;
    if (!options.unknown_id) throw MissingByte(static_cast<Byte>(*id));
    *id = *options.unknown_id;
  }
}

void Encoder::encode_short(const Text& text, const EncodingOptions& options,
                           const std::function<void(const IdBuffer&)>& use, const PollFunction& poll) const {
  constexpr std::size_t kKept = std::size_t{1} << 16;  // the number of ids whose memory is kept
  const Lease worker(*core_);
  worker->scratch.clear();
  const Text utf8 = worker->utf8_of(text);
  encode(*worker, 0, utf8.begin, {utf8.begin, utf8.end}, utf8.end, options, worker->scratch, poll);
  use(worker->scratch);
  if (worker->scratch.capacity() > kKept) worker->scratch = IdBuffer();
}

// Replaces the bytes of characters without a token by the id of unknown characters, as the rules say.
void Encoder::write_unknown(std::size_t before, IdBuffer& ids, const CharacterRules& rules,
                            OffsetCollector* collector) {
  std::uint32_t* out = ids.begin() + before;
  const std::uint32_t* const end = ids.begin() + ids.size();
  std::vector<Byte> bytes;
  std::vector<std::size_t> sizes;  // of what becomes one id
  for (const std::uint32_t* id = out; id != end;) {
    if (*id < Vocabulary::kMissing) {
      *out++ = *id++;
      sizes.push_back(1);
      continue;
    }
    if (!rules.unknown_id) throw MissingByte(static_cast<Byte>(*id));
    bytes.clear();
    for (; id != end && *id >= Vocabulary::kMissing; ++id) bytes.push_back(static_cast<Byte>(*id));
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size =
          rules.fuses_unknown ? bytes.size() : character_at(bytes.data() + at, bytes.data() + bytes.size()).length;
      *out++ = *rules.unknown_id;
      sizes.push_back(size);
      at += size;
    }
  }
  if (collector != nullptr) collector->join(static_cast<std::size_t>(end - (ids.begin() + before)), sizes);
  ids.set_end(out);
}

Encoder::Results Encoder::run(const std::vector<Text>& texts, const EncodingOptions& options, bool keeps_ids,
                              const std::function<void(std::size_t)>& poll, const std::vector<bool>* are_rests) const {
  const bool keeps_places = are_rests != nullptr;
  const auto begin_of = [&](std::size_t index, const Byte* begin) {
    return keeps_places && (*are_rests)[index] ? nullptr : begin;
  };
  Results results;
  results.chunks = share_out(texts, min_chunk(core_->chunk_bytes, *added_tokens_));
  const std::size_t threads = std::max<std::size_t>(useful_threads(options.threads, results.chunks.size()), 1);
  std::vector<Lease> workers;
  for (std::size_t i = 0; i < threads; ++i) workers.emplace_back(*core_);
  results.ids.resize(threads);
  results.by_chunk.resize(results.chunks.size());
  results.offsets.assign(texts.size() + 1, 0);
  // As many as bytes, which is more than needed, but unwritten memory costs nothing.
  std::size_t likely_ids = 0;
  for (const Chunk& chunk : results.chunks) likely_ids += chunk.end - chunk.begin;
  likely_ids = std::min(likely_ids, std::size_t{1} << 26);
  // A text may wait if its words stay where they are, and nothing is done with its ids.
  const bool may_wait = !options.dropout && !options.change_segments() && !workers[0]->splitter.may_copy() &&
                        !core_->vocabulary.lacks_bytes() && !keeps_places;

  const auto work = [&](std::size_t thread, std::size_t number, const PollFunction& poll_in_chunk) {
    const Chunk& chunk = results.chunks[number];
    IdBuffer& ids = results.ids[thread];
    if (keeps_ids) {
      ids.reserve(likely_ids / threads);  // reserved by the thread that will write them
    } else {
      ids.clear();
    }
    auto& [by, begin, end, missing, places] = results.by_chunk[number];
    CutPlaces* const kept = keeps_places ? &places : nullptr;
    by = thread;
    begin = ids.size();
    try {
      Worker& worker = *workers[thread];
      if (chunk.first_text == chunk.last_text) {
        const Text text = worker.utf8_of(texts[chunk.first_text]);
        const bool may_be_part = texts[chunk.first_text].width == 0;  // texts of wide units fit in a chunk
        const CutRules rules = cut_rules(options, poll_in_chunk);
        const Part part = may_be_part ? part_of(text, chunk, rules) : Part{text.begin, text.end};
        const Byte* const text_begin = begin_of(chunk.first_text, text.begin);
        encode(worker, chunk.first_text, text_begin, part, text.end, options, ids, poll_in_chunk, nullptr, false, kept);
      } else {
        const bool puts_spaces = core_->pattern.characters() != nullptr;
        TextGroup<Worker> group(worker, may_wait, ids, results.offsets.data() + 1, puts_spaces);
        for (std::size_t index = chunk.first_text; index <= chunk.last_text; ++index) {
          group.add(texts[index], index, [&](const Text& text, bool waits) {
            const Part all{text.begin, text.end};
            const Byte* const text_begin = begin_of(index, text.begin);
            encode(worker, index, text_begin, all, text.end, options, ids, poll_in_chunk, nullptr, waits, kept);
          });
        }
        group.finish();
      }
    } catch (const MissingByte& error) {
      missing = error.byte;
    }
    end = ids.size();
    return !missing;
  };
  for_each_chunk(results.chunks, threads, work, poll);
  // Chunks are taken in order, so all before the first that failed are done.
  for (std::size_t i = 0; i < results.chunks.size(); ++i) {
    const Chunk& chunk = results.chunks[i];
    const auto& piece = results.by_chunk[i];
    if (piece.missing) throw MissingByte(*piece.missing);
    if (chunk.first_text == chunk.last_text) {
      results.offsets[chunk.first_text + 1] += static_cast<std::int64_t>(piece.end - piece.begin);
    }
  }
  return results;
}

Encoder::Encoded Encoder::encode(const std::vector<Text>& texts, const EncodingOptions& options,
                                 const std::function<void(std::size_t)>& poll) const {
  const auto is_looked_up = [&](const Text& text) {
    return uses_prefix_cache(options, static_cast<std::size_t>(text.end - text.begin));
  };
  if (std::any_of(texts.begin(), texts.end(), is_looked_up)) return encode_with_prefix_cache(texts, options, poll);
  for (const Text& text : texts) check_nfc(text);
  Results results = run(texts, options, true, poll);
  Encoded encoded;
  encoded.offsets = std::move(results.offsets);
  for (std::size_t i = 0; i < texts.size(); ++i) encoded.offsets[i + 1] += encoded.offsets[i];
  if (results.ids.size() == 1) {
    encoded.ids = std::move(results.ids[0]);
    return encoded;
  }
  const auto total = static_cast<std::size_t>(encoded.offsets.back());
  std::uint32_t* const out = encoded.ids.room(total);
  std::vector<std::size_t> places;
  for (std::size_t place = 0; const auto& piece : results.by_chunk) {
    places.push_back(place);
    place += piece.end - piece.begin;
  }
  const auto copy = [&](std::size_t, std::size_t number, const PollFunction&) {
    const auto& piece = results.by_chunk[number];
    const IdBuffer& ids = results.ids[piece.thread];
    std::copy(ids.begin() + piece.begin, ids.begin() + piece.end, out + places[number]);
    return true;
  };
  for_each_chunk(results.chunks, results.ids.size(), copy, poll);
  encoded.ids.set_end(out + total);
  return encoded;
}

Encoder::EncodedWithOffsets Encoder::encode_with_offsets(const std::vector<Text>& texts, const EncodingOptions& options,
                                                         const Decoder& decoder,
                                                         const std::function<void(std::size_t)>& poll) const {
  const Lease worker(*core_);
  EncodedWithOffsets encoded;
  encoded.offsets.push_back(0);
  std::size_t done = 0;
  const PollFunction poll_in_text = [&] { poll(done); };
  for (std::size_t index = 0; index < texts.size(); ++index) {
    const Text& text = texts[index];
    const Text utf8 = worker->utf8_of(text);
    const std::size_t before = encoded.token_offsets.size();
    OffsetCollector collector(decoder, core_->vocabulary.drops_missing_bytes(), encoded.token_offsets,
                              core_->pattern.characters());
    encode(*worker, index, utf8.begin, {utf8.begin, utf8.end}, utf8.end, options, encoded.ids, poll_in_text,
           &collector);
    if (text.width != 0) {
      const Units units(text, poll_in_text);
      for (std::size_t i = before; i < encoded.token_offsets.size(); ++i) units.convert(encoded.token_offsets[i]);
    }
    encoded.offsets.push_back(static_cast<std::int64_t>(encoded.ids.size()));
    poll(done += static_cast<std::size_t>(text.end - text.begin));
  }
  return encoded;
}

bool Encoder::lacks_bytes() const { return core_->vocabulary.lacks_bytes(); }
std::size_t Encoder::max_wide_bytes() const { return core_->chunk_bytes; }

std::vector<std::int64_t> Encoder::count(const std::vector<Text>& texts, const EncodingOptions& options,
                                         const std::function<void(std::size_t)>& poll) const {
  std::vector<std::int64_t> counts = run(texts, options, false, poll).offsets;
  counts.erase(counts.begin());
  return counts;
}

Encoder::Encoded Encoder::merge_words(const std::vector<std::string_view>& words, std::uint32_t unknown_id,
                                      const PollFunction& poll) const {
  const Vocabulary& vocabulary = core_->vocabulary;
  constexpr std::size_t kBatch = 256;
  Merger merger(vocabulary);
  PollInLoop polls(poll);
  Encoded merged;
  merged.offsets.reserve(words.size() + 1);
  merged.offsets.push_back(0);
  const auto push = [&](std::uint32_t id) { merged.ids.push(id < Vocabulary::kMissing ? id : unknown_id); };
  const auto is_short = [](std::string_view word) { return !word.empty() && word.size() <= kLongestInterleaved; };
  std::vector<PendingWord> pending;
  std::vector<std::uint32_t> ids(kBatch * kLongestInterleaved), ids_of_word;
  for (std::size_t from = 0; from < words.size(); from += kBatch) {
    const std::span<const std::string_view> batch(&words[from], std::min(kBatch, words.size() - from));
    pending.clear();
    for (std::uint32_t* out = ids.data(); const std::string_view word : batch) {
      if (!is_short(word)) continue;
      const auto* bytes = reinterpret_cast<const Byte*>(word.data());
      pending.push_back({bytes, out, word.size(), 0, bytes + word.size()});
      out += word.size();
    }
    interleaved_for(core_->simd)(vocabulary.merge_tables(), pending.data(), pending.size());
    for (PendingWord& word : pending) word.size = vocabulary.expand(word.out, word.size);
    for (auto next = pending.begin(); const std::string_view word : batch) {
      polls(word.size());
      if (is_short(word)) {
        std::for_each(next->out, next->out + next->size, push);
        ++next;
      } else {
        const auto* bytes = reinterpret_cast<const Byte*>(word.data());
        const std::vector<Symbol>& symbols = merger.merge(bytes, word.size(), poll);
        ids_of_word.resize(word.size());
        std::transform(symbols.begin(), symbols.end(), ids_of_word.begin(),
                       [&](Symbol symbol) { return vocabulary.id(symbol); });
        ids_of_word.resize(vocabulary.expand(ids_of_word.data(), symbols.size()));
        std::for_each(ids_of_word.begin(), ids_of_word.end(), push);
      }
      merged.offsets.push_back(static_cast<std::int64_t>(merged.ids.size()));
    }
  }
  return merged;
}

std::vector<std::int64_t> Encoder::last_merges(const std::vector<std::string_view>& words,
                                               const PollFunction& poll) const {
  Merger merger(core_->vocabulary);
  PollInLoop polls(poll);
  std::vector<std::int64_t> ranks;
  ranks.reserve(words.size());
  for (const std::string_view word : words) {
    polls(word.size());
    const auto* bytes = reinterpret_cast<const Byte*>(word.data());
    const bool is_made = word.size() > 1 && merger.merge(bytes, word.size(), poll).size() == 1;
    ranks.push_back(is_made ? std::int64_t{merger.last_rank()} : -1);
  }
  return ranks;
}

std::size_t Encoder::find_last_cut(const Text& text, const EncodingOptions& options, const PollFunction& poll) const {
  return hf_bpe::find_last_cut(text, cut_rules(options, poll));
}

}  // namespace hf_bpe
