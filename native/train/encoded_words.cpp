#include "train/encoded_words.hpp"

#include <algorithm>
#include <bitset>
#include <memory>
#include <string_view>

#include "merge/backtracking.hpp"
#include "merge/merging.hpp"
#include "merge/word_ids.hpp"
#include "scan/splitter.hpp"
#include "text/chunks.hpp"

namespace hf_bpe {
namespace {

constexpr std::size_t kBatchBytes = std::size_t{1} << 25;  // of words that are shared out to the threads at once
constexpr std::size_t kChunkBytes = std::size_t{1} << 18;  // that a thread takes at a time
constexpr std::size_t kBlock = std::size_t{1} << 22;       // symbols; large enough to be mapped memory

}  // namespace

struct EncodedWords::Word {
  std::size_t length;
  std::uint64_t count;
};

// What the threads share.
struct EncodedWords::Tables {
  explicit Tables(const FirstTokens& first_tokens)
      : first_tokens(first_tokens), vocabulary(*first_tokens.vocabulary()), backtracking(vocabulary) {
    for (Symbol symbol = 0; symbol < vocabulary.symbols(); ++symbol) {
      const std::string_view bytes = symbol < 256 ? "?" : std::string_view(first_tokens.bytes()[symbol]);
      for (std::size_t i = 1; i < bytes.size(); ++i) {
        neighbors_.set(number_of(static_cast<Byte>(bytes[i - 1]), static_cast<Byte>(bytes[i])));
      }
      const std::uint32_t id = vocabulary.id(symbol);
      if (id >= Vocabulary::kMissing) continue;
      if (id >= tokens_.size()) tokens_.resize(id + 1);
      tokens_[id] = {symbol, static_cast<std::uint32_t>(bytes.size())};
    }
  }

  // Whether a token holds the last byte before a place and the first one after it in a row. If not, no merge crosses
  // the place: its token would.
  bool may_be_crossed(const Byte* place) const { return neighbors_[number_of(place[-1], place[0])]; }

  struct Token {
    Symbol symbol;
    std::uint32_t size;  // in bytes
  };
  Token token_of(std::uint32_t id) const {
    return id < Vocabulary::kMissing ? tokens_[id] : Token{static_cast<Symbol>(id & 0xFF), 1};
  }

  const FirstTokens& first_tokens;
  const Vocabulary& vocabulary;
  const LazyBacktracking backtracking;

 private:
  static std::size_t number_of(Byte first, Byte second) { return std::size_t{first} << 8 | second; }

  std::vector<Token> tokens_;       // by id
  std::bitset<1 << 16> neighbors_;  // pairs of bytes in tokens
};

// Encodes words in one thread. Long words are cut into parts whose symbols are cached; where the last symbol of a part
// and the first of the next are not stable (native/merge/backtracking.hpp), both parts are merged as one. Few places
// need that check.
class EncodedWords::Worker {
 public:
  Worker(const Tables& tables, const Pattern& parts)
      : tables_(tables),
        merger_(tables.vocabulary),
        splitter_(parts),
        part_ids_(tables.vocabulary, tables.backtracking, nullptr) {}

  // Appends the records of consecutive words; the first begins at `text`. Memory may be read up to `readable`.
  void encode(const Byte* text, const Word* words, std::size_t count, const Byte* readable,
              std::vector<Symbol>& records, const PollFunction& poll) {
    cut(text, words, count, poll);
    const Byte* const end = ends_.empty() ? text : ends_.back();
    ids_.resize(static_cast<std::size_t>(end - text) + WordIds<std::uint32_t>::kSlack);
    part_ids_.encode(text, ends_.data(), ends_.size(), readable, ids_.data(), poll);
    PollInLoop polls(poll);
    const std::uint32_t* id = ids_.data();
    const Byte* const* part = ends_.data();
    for (std::size_t i = 0; i < count; text += words[i++].length) {
      symbols_.clear();
      parts_.clear();
      bool is_whole = false;  // whether the word had to be merged as a whole
      const Byte* const word_end = text + words[i].length;
      for (const Byte* at = text; at != word_end; at = *part++) {
        const bool is_apart = at == text || !tables_.may_be_crossed(at);  // as nearly all parts are
        if (is_apart) parts_.push_back({static_cast<std::size_t>(at - text), symbols_.size()});
        part_.clear();
        std::vector<Symbol>& symbols = is_apart ? symbols_ : part_;
        for (auto left = static_cast<std::size_t>(*part - at); left > 0;) {
          const Tables::Token token = tables_.token_of(*id++);
          symbols.push_back(token.symbol);
          left -= token.size;
        }
        if (!is_apart && !is_whole) is_whole = !append(text, at, *part, poll);
      }
      write(is_whole ? merge(text, words[i].length, poll) : symbols_, words[i].count, records);
      polls(words[i].length);
    }
  }

 private:
  static constexpr std::size_t kLongestPart = 128;  // bytes of parts that are merged as one

  void cut(const Byte* text, const Word* words, std::size_t count, const PollFunction& poll) {
    ends_.clear();
    for (std::size_t i = 0; i < count; text += words[i++].length) {
      const std::size_t before = ends_.size();
      const Byte* at = text;
      splitter_.split(text, text + words[i].length, poll,
                      [&](const Byte* from, const Byte* const* ends, std::size_t n) {
                        if (from != at) return;  // a chain may leave text out
                        ends_.insert(ends_.end(), ends, ends + n);
                        at = ends_.back();
                      });
      if (at == text + words[i].length) continue;
      ends_.resize(before);
      ends_.push_back(text + words[i].length);
    }
  }

  // Appends the symbols in `part_` of a part of a word; false if parts merged as one would be too long.
  bool append(const Byte* word, const Byte* begin, const Byte* end, const PollFunction& poll) {
    std::size_t steps = 0;
    while (!parts_.empty() && tables_.may_be_crossed(begin)) {
      const Backtracking& backtracking = tables_.backtracking.get(poll);
      if (!backtracking.is_exact()) return false;
      if (backtracking.is_stable(symbols_.back(), part_.front(), steps)) break;
      begin = word + parts_.back().begin;
      symbols_.resize(parts_.back().symbols);
      parts_.pop_back();
      if (static_cast<std::size_t>(end - begin) > kLongestPart) return false;
      part_ = merger_.merge(begin, static_cast<std::size_t>(end - begin), poll);
    }
    parts_.push_back({static_cast<std::size_t>(begin - word), symbols_.size()});
    symbols_.insert(symbols_.end(), part_.begin(), part_.end());
    return true;
  }

  const std::vector<Symbol>& merge(const Byte* word, std::size_t length, const PollFunction& poll) {
    if (length > Merger::kLongestScan && tables_.backtracking.pays_after(heap_steps_ += Merger::heap_steps(length))) {
      const Backtracking& backtracking = tables_.backtracking.get(poll);
      if (backtracking.is_exact() && backtracking.merge(word, length, symbols_, poll)) return symbols_;
    }
    return merger_.merge(word, length, poll);
  }

  void write(const std::vector<Symbol>& symbols, std::uint64_t count, std::vector<Symbol>& records) const {
    if (symbols.size() < 2) return;
    records.push_back(static_cast<Symbol>(count));
    records.push_back(static_cast<Symbol>(count >> 32));
    records.push_back(static_cast<Symbol>(symbols.size()));
    for (const Symbol symbol : symbols) {
      records.push_back(symbol < 256 ? tables_.first_tokens.symbol_of(static_cast<Byte>(symbol)) : symbol);
    }
  }

  const Tables& tables_;
  Merger merger_;
  Splitter splitter_;
  WordIds<std::uint32_t> part_ids_;
  std::size_t heap_steps_ = 0;  // that words took so far, or would have taken

  std::vector<const Byte*> ends_;  // of all parts of a call
  std::vector<std::uint32_t> ids_;
  struct Part {
    std::size_t begin, symbols;  // its first byte in the word, its first symbol
  };
  std::vector<Part> parts_;  // of a word
  std::vector<Symbol> part_, symbols_;
};

// Words that wait for the threads.
class EncodedWords::Batch {
 public:
  bool is_full() const { return bytes_.size() >= kBatchBytes; }

  void add(const Byte* word, std::size_t length, std::uint64_t count) {
    if (chunks_.empty() || bytes_.size() - chunks_.back().begin >= kChunkBytes) {
      chunks_.push_back({words_.size(), words_.size(), bytes_.size(), bytes_.size()});
    }
    words_.push_back({length, count});
    bytes_.insert(bytes_.end(), word, word + length);
    chunks_.back().last_text = words_.size() - 1;
    chunks_.back().end = bytes_.size();
  }

  // Encodes the words, calls `use` with their records, in order, and empties the batch.
  template <class Use>
  void encode(const std::vector<std::unique_ptr<Worker>>& workers, const PollFunction& poll, Use use) {
    if (records_.size() < chunks_.size()) records_.resize(chunks_.size());
    const auto work = [&](std::size_t thread, std::size_t number, const PollFunction& poll_in_chunk) {
      const Chunk& chunk = chunks_[number];
      workers[thread]->encode(bytes_.data() + chunk.begin, &words_[chunk.first_text],
                              chunk.last_text - chunk.first_text + 1, bytes_.data() + bytes_.size(), records_[number],
                              poll_in_chunk);
      return true;
    };
    for_each_chunk(chunks_, workers.size(), work, [&](std::size_t) { poll(); });
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      use(records_[i]);
      records_[i].clear();
    }
    bytes_.clear();
    words_.clear();
    chunks_.clear();
  }

 private:
  std::vector<Byte> bytes_;
  std::vector<Word> words_;
  std::vector<Chunk> chunks_;                 // of words
  std::vector<std::vector<Symbol>> records_;  // of each chunk
};

EncodedWords::EncodedWords(const Words& words, const FirstTokens& first_tokens, const WordEncoding& how,
                           const PollFunction& poll) {
  const Tables tables(first_tokens);
  std::vector<std::unique_ptr<Worker>> workers;
  while (workers.size() < std::clamp<std::size_t>(how.threads, 1, kMaxThreads)) {
    workers.push_back(std::make_unique<Worker>(tables, how.word_pattern));
  }
  Batch batch;
  const auto encode = [&] {
    batch.encode(workers, poll, [&](const std::vector<Symbol>& records) { append(records); });
  };
  words.for_each([&](const Byte* word, std::size_t length, std::uint64_t count) {
    if (length < 2) return;
    batch.add(word, length, count);
    if (batch.is_full()) encode();
  });
  encode();
}

// A batch with its words and records; for each thread the ids of a chunk or of the longest word, and the cache of
// parts.
std::uint64_t EncodedWords::working_bytes(std::uint64_t bytes, std::uint64_t longest, unsigned threads) {
  constexpr std::uint64_t kCache = std::uint64_t{48} << 20;
  const std::uint64_t working = std::min<std::uint64_t>(threads, 64);
  return (std::min<std::uint64_t>(bytes, kBatchBytes) + longest) * 4 +
         working * (std::min(bytes * 16, kCache) +
                    std::max<std::uint64_t>(longest, std::min<std::uint64_t>(bytes, kChunkBytes)) * 16);
}

void EncodedWords::append(const std::vector<Symbol>& records) {
  if (records.empty()) return;
  if (blocks_.empty() || blocks_.back().records.size() - blocks_.back().size < records.size()) {
    blocks_.push_back({Pages<Symbol>(std::max(kBlock, records.size())), 0});
  }
  Block& block = blocks_.back();
  std::copy(records.begin(), records.end(), block.records.data() + block.size);
  block.size += records.size();
}

}  // namespace hf_bpe
