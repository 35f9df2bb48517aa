// The vocabulary and merges of an encoder, converted from dicts, lists and bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "bindings/python.hpp"
#include "merge/characters.hpp"
#include "merge/vocabulary.hpp"

namespace hf_bpe {

inline std::vector<std::uint32_t> numbers_of(const nb::bytes& bytes) {
  if (bytes.size() % sizeof(std::uint32_t) != 0) throw nb::value_error("expected uint32 in bytes");
  std::vector<std::uint32_t> numbers(bytes.size() / sizeof(std::uint32_t));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.c_str(), bytes.size());
  return numbers;
}

using TokenArrays = Typed<nb::tuple, "TokenArrays">;

// The tokens of a hf_bpe.core._arrays.TokenArrays, whose bytes it holds. No code of Python can change them.
class GivenTokens {
 public:
  explicit GivenTokens(const nb::tuple& arrays) {
    if (!nb::try_cast(arrays, arrays_)) throw nb::type_error("tokens: expected three bytes objects");
    const auto& [data, sizes_in_bytes, ids_in_bytes] = arrays_;
    const std::vector<std::uint32_t> sizes = numbers_of(sizes_in_bytes), ids = numbers_of(ids_in_bytes);
    if (sizes.size() != ids.size()) throw nb::value_error("tokens: expected a size for each id");
    std::string_view rest(data.c_str(), data.size());
    items.reserve(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (sizes[i] > rest.size()) throw nb::value_error("tokens: expected as many bytes as the sizes say");
      items.emplace_back(ids[i], rest.substr(0, sizes[i]));
      rest.remove_prefix(sizes[i]);
    }
  }
  GivenTokens(const GivenTokens&) = delete;
  GivenTokens& operator=(const GivenTokens&) = delete;
  Vocabulary::Tokens items;

  // For a model of characters: puts what each token stands for in its place, which is a space for what the model writes
  // instead, and a byte. Returns the ids of tokens that had a space before, which are of no text.
  std::vector<std::uint32_t> read_as_text(std::string_view space, const std::vector<std::uint32_t>& byte_ids) {
    std::unordered_map<std::uint32_t, char> bytes;
    for (std::size_t byte = 0; byte < byte_ids.size(); ++byte) bytes.emplace(byte_ids[byte], static_cast<char>(byte));
    std::vector<std::uint32_t> of_no_text;
    text_.reserve(std::get<0>(arrays_).size() + items.size());  // and never grows, so that views of it stay valid
    for (auto& [id, token] : items) {
      const std::size_t begin = text_.size();
      if (const auto byte = bytes.find(id); byte != bytes.end()) {
        token = std::string_view(&byte->second, 1);
      } else if (!space.empty() && token.find(' ') != std::string_view::npos) {
        of_no_text.push_back(id);
      }
      for (std::size_t at; !space.empty() && (at = token.find(space)) != std::string_view::npos;) {
        text_.append(token.substr(0, at)) += ' ';
        token.remove_prefix(at + space.size());
      }
      text_ += token;
      token = std::string_view(text_).substr(begin);
    }
    return of_no_text;
  }

 private:
  std::tuple<nb::bytes, nb::bytes, nb::bytes> arrays_;
  std::string text_;
};

inline PrefixSpace prefix_space_of(unsigned number) {
  if (number > static_cast<unsigned>(PrefixSpace::kFirstUnlessSpace)) throw nb::value_error("prefix: expected 0 to 3");
  return static_cast<PrefixSpace>(number);
}

// All tokens but some; none without a list.
inline Vocabulary::Tokens whole_words_of(const GivenTokens& vocab, const std::optional<ByteStrings>& excluded_tokens) {
  Vocabulary::Tokens words;
  if (!excluded_tokens) return words;
  const Held held = items_of(excluded_tokens->value, "excluded_tokens");
  std::unordered_set<std::string_view> excluded;
  std::set<std::size_t> sizes;  // of few tokens
  for (nb::handle token : held) {
    excluded.insert(view_of(token, "excluded_tokens"));
    sizes.insert(view_of(token, "excluded_tokens").size());
  }
  words.reserve(vocab.items.size());
  for (const auto& item : vocab.items) {
    if (!sizes.contains(item.second.size()) || !excluded.contains(item.second)) words.push_back(item);
  }
  return words;
}

// The merges of ids in 32 bits, three for each merge: both parts and the result.
inline std::vector<Vocabulary::Merge> merges_by_id(const GivenTokens& vocab, const nb::bytes& merge_ids) {
  constexpr std::uint32_t kMaxId = (1 << 21) - 1, kNone = 0xFFFFFFFF;
  if (merge_ids.size() == 0) return {};
  std::vector<std::uint32_t> places;  // by id
  bool are_ids = true;                // whether every place is its id
  for (std::uint32_t place = 0; place < vocab.items.size(); ++place) {
    const std::uint32_t id = vocab.items[place].first;
    if (id > kMaxId) throw nb::value_error("merge_ids: expected ids below 2**21");
    if (id >= places.size()) places.resize(std::size_t{id} + 1, kNone);
    places[id] = place;
    are_ids &= id == place;
  }
  if (merge_ids.size() % sizeof(Vocabulary::Merge) != 0) throw nb::value_error("merge_ids: expected three a merge");
  std::vector<Vocabulary::Merge> merges(merge_ids.size() / sizeof(Vocabulary::Merge));
  if (!merges.empty()) std::memcpy(merges.data(), merge_ids.c_str(), merge_ids.size());
  if (are_ids) return merges;  // the vocabulary refuses others
  for (auto& [first, second, result] : merges) {
    for (std::uint32_t* id : {&first, &second, &result}) {
      if (*id >= places.size() || places[*id] == kNone) throw nb::value_error("merge_ids: an id of no token");
      *id = places[*id];
    }
  }
  return merges;
}

}  // namespace hf_bpe
