// Python bindings of sorted runs.
#include <cstring>
#include <memory>
#include <utility>

#include "bindings/python.hpp"
#include "count/runs.hpp"

using namespace hf_bpe;

namespace {

// A Python object that a thread without the GIL may release.
std::shared_ptr<nb::object> shared(nb::handle object) {
  return {new nb::object(nb::borrow(object)), [](nb::object* held) {
            const nb::gil_scoped_acquire gil;
            delete held;
          }};
}

// Refuses to continue a run after an error, which has lost some of its words.
class Whole {
 public:
  explicit Whole(bool& is_broken) : is_broken_(is_broken) {
    if (std::exchange(is_broken_, true))
      throw std::runtime_error("reading this run has failed; read it from its beginning");
  }
  void keep() { is_broken_ = false; }

 private:
  bool& is_broken_;
};

class PyRunMerger {
 public:
  explicit PyRunMerger(std::unique_ptr<MergedRun> run) : run_(std::move(run)) {}

  nb::bytes read(std::size_t size) {
    const Occupied occupied(flag_);
    Whole whole(is_broken_);
    std::string piece;
    without_gil([&](const PollFunction& poll) { run_->read(size, piece, poll); });
    nb::bytes bytes(piece.data(), piece.size());
    whole.keep();
    return bytes;
  }
  std::uint64_t words() {
    const Occupied occupied(flag_);
    return run_->words();
  }
  Typed<nb::object, "int"> total() {
    const Occupied occupied(flag_);
    const nb::object high = nb::int_(run_->total_high());
    return nb::object(nb::int_(run_->total_low()) + nb::steal(PyNumber_Lshift(high.ptr(), nb::int_(64).ptr())));
  }

 private:
  std::unique_ptr<MergedRun> run_;
  std::atomic<bool> flag_ = false;
  bool is_broken_ = false;
};

class PyRunReader {
 public:
  explicit PyRunReader(nb::handle run) : reader_(refill_from(run)) {}

  Typed<nb::list, "list[tuple[bytes, int]]"> next(std::size_t words) {
    const Occupied occupied(flag_);
    Whole whole(is_broken_);
    nb::list list;
    PollInLoop polls(kCheckSignals);
    while (words-- != 0 && reader_.next()) {
      polls(reader_.length());
      list.append(nb::make_tuple(to_python(reader_.word(), reader_.length()), reader_.count()));
    }
    whole.keep();
    return list;
  }

 private:
  RunReader reader_;
  std::atomic<bool> flag_ = false;
  bool is_broken_ = false;
};

}  // namespace

RunReader::Refill hf_bpe::refill_from(nb::handle run) {
  if (PyBytes_Check(run.ptr())) {
    const nb::bytes bytes = nb::borrow<nb::bytes>(run);
    return [held = shared(run), from = bytes_of(bytes), left = bytes.size()](Byte* to, std::size_t room) mutable {
      const std::size_t size = std::min(room, left);
      std::memcpy(to, from, size);
      from += size;
      left -= size;
      return size;
    };
  }
  return [read = shared(run)](Byte* to, std::size_t room) {
    const nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    const nb::object piece = (*read)(room);
    if (!PyBytes_Check(piece.ptr())) throw nb::type_error("run: expected bytes, or a function that returns bytes");
    const auto size = static_cast<std::size_t>(PyBytes_GET_SIZE(piece.ptr()));
    if (size > room) throw nb::value_error("run: more bytes than were asked for");
    std::memcpy(to, PyBytes_AS_STRING(piece.ptr()), size);
    return size;
  };
}

Typed<nb::object, "RunMerger"> hf_bpe::merger_of(std::vector<WordCounts> tables) {
  auto merged = without_gil([&](const auto& poll) { return std::make_unique<TableMerger>(std::move(tables), poll); });
  return nb::cast(new PyRunMerger(std::move(merged)), nb::rv_policy::take_ownership);
}

void hf_bpe::bind_runs(nb::module_& module) {
  nb::class_<PyRunMerger>(
      module, "RunMerger",
      "What `hf_bpe.counting._runs.merge_runs` returns. After reading was interrupted, it is of no more use.")
      .def(
          "__init__",
          [](PyRunMerger* self, const Typed<nb::object, "Sequence[Run]">& runs,
             const Typed<nb::object, "Sequence[int]">& multipliers, std::uint64_t least) {
            const Held held = items_of(runs.value, "runs"), factors = items_of(multipliers.value, "multipliers");
            if (held.size() != factors.size()) throw nb::value_error("expected a multiplier for each run");
            std::vector<RunMerger::Input> inputs;
            for (std::size_t i = 0; i < held.size(); ++i) {
              const auto factor = number_of<std::uint64_t>(factors[i], "multipliers");
              inputs.push_back({std::make_unique<RunReader>(refill_from(held[i])), factor});
            }
            new (self) PyRunMerger(std::make_unique<RunMerger>(std::move(inputs), least));
          },
          "runs"_a, "multipliers"_a, "least"_a = 1)
      .def("read", &PyRunMerger::read, "size"_a)
      .def_prop_ro("words", &PyRunMerger::words)
      .def_prop_ro("total", &PyRunMerger::total);

  nb::class_<PyRunReader>(module, "RunReader",
                          R"(Reads a sorted run.

Raises, also later: ValueError for what is no run; what reading it raises.
)")
      .def(
          "__init__", [](PyRunReader* self, const Typed<nb::object, "Run">& run) { new (self) PyRunReader(run.value); },
          "run"_a)
      .def("next", &PyRunReader::next, "words"_a,
           "Return up to this number of words and their counts; none only at the end.");
}
