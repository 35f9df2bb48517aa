// Any bytes as a run: they are refused, or they are the unique serialization of their content.
#include <memory>
#include <stdexcept>
#include <string>

#include "count/runs.hpp"
#include "tests/naive.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace naive;
  if (size < 1) return 0;
  const std::string run(data + 1, data + size);
  const std::size_t most = data[0] % 16 + 1;
  const auto refill = [&, at = std::size_t{0}](Byte* to, std::size_t room) mutable {
    const std::size_t part = std::min({room, most, run.size() - at});
    std::copy_n(begin_of(run) + at, part, to);
    at += part;
    return part;
  };
  std::string copy;
  try {
    std::vector<RunMerger::Input> inputs;
    inputs.push_back({std::make_unique<RunReader>(refill, data[0] / 16 + 1), 1});
    RunMerger(std::move(inputs)).read(std::size_t{1} << 40, copy, kNoPoll);
  } catch (const std::invalid_argument&) {
    return 0;
  }
  CHECK(copy == run);
  return 0;
}
