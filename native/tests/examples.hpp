// How many random examples a test tries: all in a plain build, a part under a sanitizer, which makes each much slower.
#pragma once

namespace naive {

// ThreadSanitizer is there for what starts threads, so of the rest it is given one case of each kind or a few.
#if defined(__SANITIZE_THREAD__)
inline constexpr int kOneOf = 20, kOneOfThreaded = 5;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr int kOneOf = 5, kOneOfThreaded = 5;
#else
inline constexpr int kOneOf = 1, kOneOfThreaded = 1;
#endif

constexpr int examples(int all) { return all / kOneOf; }

// Of what starts threads.
constexpr int threaded_examples(int all) { return all / kOneOfThreaded; }

}  // namespace naive
