#include "files/merges_file.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "files/printable.hpp"

namespace hf_bpe {

bool MergesReader::fits(std::size_t tokens, std::size_t merges) {
  return tokens < std::size_t{1} << CompactRanks::kFirstBits && merges < CompactRanks::kNone;
}

MergesReader::MergesReader(const std::vector<std::string_view>& tokens, std::size_t most, TokenForm form)
    : tokens_(tokens),
      most_(most),
      form_(form),
      numbers_(static_cast<unsigned>(std::bit_width(tokens.size() * 2 | 8))),  // large enough never to grow
      last_(tokens.size(), kNone) {
  file_.is_used.resize(tokens.size());
  file_.merges.reserve(most);
  before_.reserve(most);
  pending_.reserve(kBatch);
  for (std::uint32_t number = 0; number < tokens.size(); ++number) {
    const std::string_view token = tokens[number];
    if (token.empty()) continue;
    const auto* bytes = reinterpret_cast<const Byte*>(token.data());
    const Numbers::Key key = numbers_.key_of(bytes, token.size());
    const std::size_t slot = numbers_.find_slot(key, numbers_.slot_of(key), bytes, token.size());
    if (numbers_[slot].is_empty()) {
      numbers_.insert(key, slot, bytes, token.size(), number);
    } else {
      are_distinct_ = false;
    }
  }
}

bool MergesReader::add(std::string_view line) {
  const std::size_t space = line.find(' ');
  return space != std::string_view::npos && space == line.rfind(' ') &&
         add(line.substr(0, space), line.substr(space + 1));
}

bool MergesReader::add(std::string_view first, std::string_view second) {
  const std::size_t begin = made_.size();
  if (first.empty() || second.empty() || !append(first)) return false;
  const std::size_t middle = made_.size();
  if (!append(second)) return false;
  pending_.push_back({middle - begin, made_.size() - begin, {}, {}, {}});
  return pending_.size() < kBatch || finish();
}

bool MergesReader::append(std::string_view written) {
  if (form_ == TokenForm::kPrintable) return append_bytes(written, made_);
  made_ += written;
  return true;
}

bool MergesReader::finish() {
  if (!are_distinct_ || file_.merges.size() + pending_.size() > most_) return false;
  std::string_view rest = made_;
  for (Pending& pending : pending_) {
    const std::string_view parts[] = {rest.substr(0, pending.first_size),
                                      rest.substr(pending.first_size, pending.size - pending.first_size)};
    for (const std::size_t i : {0, 1}) {
      pending.keys[i] = numbers_.key_of(reinterpret_cast<const Byte*>(parts[i].data()), parts[i].size());
      pending.slots[i] = numbers_.slot_of(pending.keys[i]);
      numbers_.prefetch(pending.slots[i]);
    }
    rest.remove_prefix(pending.size);
  }
  rest = made_;
  std::uint32_t last = file_.merges.empty() ? 0 : file_.merges.back().result;
  for (Pending& pending : pending_) {
    const std::string_view made = rest.substr(0, pending.size);
    auto& [first, second, result] = pending.merge;
    first = find(pending.keys[0], pending.slots[0], made.substr(0, pending.first_size));
    second = find(pending.keys[1], pending.slots[1], made.substr(pending.first_size));
    result = last = find_result(made, last);
    if (first == kNone || second == kNone || result == kNone) return false;
    rest.remove_prefix(pending.size);
  }
  for (const Pending& pending : pending_) {
    const auto [first, second, result] = pending.merge;
    // A repeated merge makes the same token of the same first part. These are fewer than the bytes of the token.
    for (std::uint32_t other = last_[result]; other != kNone; other = before_[other]) {
      if (file_.merges[other].first == first) return false;
    }
    before_.push_back(std::exchange(last_[result], static_cast<std::uint32_t>(file_.merges.size())));
    for (const std::uint32_t number : {first, second, result}) file_.is_used[number] = 1;
    file_.merges.push_back(pending.merge);
  }
  pending_.clear();
  made_.clear();
  return true;
}

std::uint32_t MergesReader::find(Numbers::Key key, std::size_t slot, std::string_view token) const {
  const auto& entry =
      numbers_[numbers_.find_slot(key, slot, reinterpret_cast<const Byte*>(token.data()), token.size())];
  return entry.is_empty() ? kNone : entry.value;
}

// Most merges make the token after that of the preceding merge, or the same.
std::uint32_t MergesReader::find_result(std::string_view made, std::uint32_t last) const {
  const std::size_t end = std::min(std::size_t{last} + 2, tokens_.size());
  for (std::size_t number = last; number < end; ++number) {
    if (tokens_[number] == made) return static_cast<std::uint32_t>(number);
  }
  const Numbers::Key key = numbers_.key_of(reinterpret_cast<const Byte*>(made.data()), made.size());
  return find(key, numbers_.slot_of(key), made);
}

std::optional<MergesFile> read_merges(std::string_view text, const std::vector<std::string_view>& tokens) {
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
  if (!MergesReader::fits(tokens.size(), lines)) return std::nullopt;
  MergesReader reader(tokens, lines);
  if (text.starts_with("#version")) {
    const std::string_view header = text.substr(0, text.find('\n'));
    const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
    if (!std::all_of(header.begin(), header.end(), is_ascii)) return std::nullopt;  // is it UTF-8?
    text.remove_prefix(header.size());
  }
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && !reader.add(line)) return std::nullopt;
  }
  if (!reader.finish()) return std::nullopt;
  return reader.take();
}

}  // namespace hf_bpe
