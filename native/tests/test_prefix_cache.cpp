// Tests of prefix caches: ids are those without one, whatever was encoded before, in one thread or several; memory is
// bounded; and a forked process goes on.
#include <thread>

#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "examples.hpp"
#include "random_models.hpp"
#include "text/transcoding.hpp"

using namespace naive;

namespace {

const std::vector<std::string> kPieces = {"a",    "b",      "ab",     "abc",        " ",    " a", "\n",
                                          "<",    "<x>",    "x>",     "1",          "é",    "你", "\xFF",
                                          "\xC3", "\u3000", "don't ", "low lower ", "<x> ", "  "};

std::string draw_text(std::size_t pieces) {
  std::string text;
  const std::size_t kinds = 2 + draw(kPieces.size() - 1);  // few pieces make other boundaries than many
  for (std::size_t i = draw(pieces); i > 0; --i) text += kPieces[draw(kinds)];
  return text;
}

// A text that begins like one of the others, and replaces it.
std::string edit(std::vector<std::string>& texts) {
  std::string text = draw_from(texts);
  if (draw(3) == 0) text.resize(text.size() - std::min(text.size(), draw(draw(2) ? 40 : text.size() + 1)));
  text += draw_text(draw(2) ? 40 : 3000);
  if (text.size() > 60'000) text = draw_text(3000);
  texts[draw(texts.size())] = text;
  return text;
}

void check_equal(const Encoder::Encoded& found, const Encoder::Encoded& expected) {
  CHECK(std::equal(found.ids.begin(), found.ids.end(), expected.ids.begin(), expected.ids.end()));
  CHECK(found.offsets == expected.offsets);
}

const auto kNoProgress = [](std::size_t) {};

Encoder draw_encoder(Model& model) {
  std::vector<AddedToken> tokens;
  for (const char* content : {"<x>", "<x>a", "ab", "\n", " a", "你"}) {
    if (draw(3) != 0) continue;
    tokens.push_back({content, 2000, draw(2) == 0, draw(2) == 0, draw(2) == 0, draw(2) == 0, draw(2) == 0});
  }
  model.drops_missing_bytes = draw(2);
  return Encoder(model.vocabulary(), draw_from(kPatterns), widest_simd(), draw(2) ? 1000 : Encoder::kChunkBytes)
      .with_added_tokens(tokens);
}

void test_ids_are_those_without_a_cache() {
  for (int i = 0; i < threaded_examples(100); ++i) {
    Model model = draw_model();
    const Encoder plain = draw_encoder(model);
    const auto cache = std::make_shared<PrefixCache>(draw(2) ? 1 << 24 : 40'000);
    const Encoder encoder = plain.with_prefix_cache(cache);
    std::vector<std::string> texts(3);
    for (int j = 0; j < 40; ++j) {
      std::vector<std::string> edited(1 + draw(4) / 3 * draw(4));
      for (std::string& text : edited) text = edit(texts);
      std::vector<Text> borrowed;
      for (const std::string& text : edited) borrowed.push_back(text_of(text));
      EncodingOptions options;
      options.threads = 1 + static_cast<unsigned>(draw(2));
      options.split_special_tokens = draw(2);
      if (draw(8)) options.unknown_id = 3000 + static_cast<std::uint32_t>(draw(2));
      std::optional<Encoder::Encoded> expected;
      try {
        expected = plain.encode(borrowed, options, kNoProgress);
      } catch (const MissingByte&) {
      }
      try {
        const Encoder::Encoded found = encoder.encode(borrowed, options, kNoProgress);
        CHECK(expected);
        check_equal(found, *expected);
      } catch (const MissingByte&) {
        CHECK(!expected);
      }
      CHECK(cache->statistics().size_bytes <= cache->max_bytes());
    }
  }
}

// As strings of Python come, whose surrogates become characters in pairs only.
void test_ids_of_wide_texts_are_those_without_a_cache() {
  const std::vector<std::u32string> pieces = {U"low ",  U"ab",    U"\n",           U"é", U"你", U"<x>",
                                              {0xD83D}, {0xDE00}, {0xD83D, 0xDE00}};
  for (int i = 0; i < threaded_examples(40); ++i) {
    Model model = draw_model();
    const Encoder plain = draw_encoder(model);
    const Encoder encoder = plain.with_prefix_cache(std::make_shared<PrefixCache>(1 << 20));
    EncodingOptions options;
    options.unknown_id = 3000;
    std::u32string text;
    for (int j = 0; j < 12; ++j) {
      text.resize(text.size() - std::min<std::size_t>(text.size(), draw(20)));
      const std::size_t kinds = 1 + draw(pieces.size());
      for (std::size_t k = draw(2) ? draw(10) : draw(8000); k > 0; --k) text += pieces[draw(kinds)];
      if (2 * text.size() < PrefixCache::kMinBytes) continue;
      const std::u16string narrow(text.begin(), text.end());
      const auto* const wide = reinterpret_cast<const Byte*>(text.data());
      const auto* const half = reinterpret_cast<const Byte*>(narrow.data());
      const Text of_wide = {.begin = wide, .end = wide + 4 * text.size(), .width = 4};
      const Text of_half = {.begin = half, .end = half + 2 * narrow.size(), .width = 2};
      std::vector<Byte> utf8(4 * text.size() + kTranscodingSlack);
      const Text converted{utf8.data(), transcode(of_wide.begin, of_wide.end, 4, utf8.data())};
      check_equal(encoder.encode({of_wide, of_half}, options, kNoProgress),
                  plain.encode({converted, converted}, options, kNoProgress));
    }
  }
}

void test_only_text_surely_in_nfc_is_not_refused() {
  Model model = make_model("ab ", 20, true, 0, draw);
  const Encoder encoder = Encoder(model.vocabulary(), Pattern::kGpt2)
                              .with_prefix_cache(std::make_shared<PrefixCache>(1 << 20))
                              .refusing_changes();
  EncodingOptions options;
  options.unknown_id = 3000;
  const auto is_refused = [&](const std::string& text) {
    try {
      encoder.encode({text_of(text)}, options, kNoProgress);
      return false;
    } catch (const MayNotBeNfc&) {
      return true;
    }
  };
  std::string text;
  while (text.size() < 30'000) text += "ab ba é ";
  for (const std::string& known : {std::string("a"), text}) {
    CHECK(!is_refused(known));
    CHECK(is_refused(known + "\u0301"));  // which joins the last character
    CHECK(is_refused(known.substr(0, known.size() - 1) + "e\u0301 ab"));
  }
}

void test_what_was_encoded_is_not_encoded_again() {
  Model model = make_model("ab ", 20, true, 0, draw);
  const auto cache = std::make_shared<PrefixCache>(1 << 20);
  const Encoder encoder = Encoder(model.vocabulary(), Pattern::kGpt2).with_prefix_cache(cache);
  EncodingOptions options;
  options.unknown_id = 3000;
  std::string text;
  while (text.size() < 50'000) text += "ab ba a b abba ";
  encoder.encode({text_of(text)}, options, kNoProgress);
  const std::size_t before = cache->statistics().reused_bytes;
  const std::string longer = text + "ab ba";
  encoder.encode({text_of(longer)}, options, kNoProgress);
  CHECK(cache->statistics().reused_bytes - before > text.size() - 200);
  CHECK(encoder.uses_prefix_cache(options) && !encoder.without_prefix().uses_prefix_cache(options));
  cache->clear();
  CHECK(cache->statistics().blocks == 0);
}

void test_threads_share_a_cache_and_a_forked_process_goes_on() {
  Model model = make_model("abc ", 60, true, 0, draw);
  const Encoder plain = Encoder(model.vocabulary(), Pattern::kGpt2).with_added_tokens({{"<x>", 2000}});
  const auto cache = std::make_shared<PrefixCache>(300'000);
  const Encoder encoder = plain.with_prefix_cache(cache);
  std::vector<std::string> texts(1), all;
  for (int i = 0; i < 40; ++i) all.push_back(edit(texts));
  EncodingOptions options;
  options.unknown_id = 3000;
  std::vector<Encoder::Encoded> expected;
  for (const std::string& text : all) expected.push_back(plain.encode({text_of(text)}, options, kNoProgress));
  const auto encode_all = [&] {
    for (std::size_t i = 0; i < all.size(); ++i) {
      check_equal(encoder.encode({text_of(all[i])}, options, kNoProgress), expected[i]);
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < threaded_examples(20); ++j) encode_all();
    });
  }
// A sanitizer does not let a process with threads fork and go on.
#if !defined(_WIN32) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
  for (int i = 0; i < threaded_examples(20); ++i) {
    const pid_t child = fork();
    if (child == 0) {
      encode_all();
      _exit(0);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
  }
#endif
  threads.clear();
  CHECK(cache->statistics().size_bytes <= cache->max_bytes());
}

}  // namespace

int main() {
  test_ids_are_those_without_a_cache();
  test_ids_of_wide_texts_are_those_without_a_cache();
  test_only_text_surely_in_nfc_is_not_refused();
  test_what_was_encoded_is_not_encoded_again();
  test_threads_share_a_cache_and_a_forked_process_goes_on();
}
