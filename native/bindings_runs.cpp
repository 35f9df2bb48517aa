// What Python sees of sorted runs.
#include <cstring>
#include <memory>

#include "python.hpp"
#include "runs.hpp"

using namespace hf_bpe;

namespace {

// A Python object that may be let go of by a thread that does not hold the GIL.
std::shared_ptr<nb::object> shared(nb::handle object) {
  return {new nb::object(nb::borrow(object)), [](nb::object* held) {
            const nb::gil_scoped_acquire gil;
            delete held;
          }};
}

class PyRunMerger {
 public:
  explicit PyRunMerger(std::vector<RunMerger::Input> inputs, std::uint64_t least = 1)
      : merger_(std::move(inputs), least) {}

  nb::bytes read(std::size_t size) {
    const Occupied occupied(flag_);
    Poll poll{nb::none()};
    std::string piece;
    {
      const nb::gil_scoped_release no_gil;
      constexpr std::size_t kStep = std::size_t{1} << 18;
      for (std::size_t before = 1; piece.size() < size && piece.size() != before;) {
        before = piece.size();
        merger_.read(std::min(size, before + kStep), piece);
        poll(piece.size());
      }
    }
    return nb::bytes(piece.data(), piece.size());
  }
  std::uint64_t words() const { return merger_.words(); }
  nb::object total() const {
    const nb::object high = nb::int_(merger_.total_high());
    return nb::int_(merger_.total_low()) + nb::steal(PyNumber_Lshift(high.ptr(), nb::int_(64).ptr()));
  }

 private:
  RunMerger merger_;
  std::atomic<bool> flag_ = false;
};

class PyRunReader {
 public:
  explicit PyRunReader(nb::handle run) : reader_(refill_from(run)) {}

  nb::list next(std::size_t words) {
    const Occupied occupied(flag_);
    nb::list list;
    while (words-- != 0 && reader_.next()) {
      list.append(nb::make_tuple(to_python(reader_.word(), reader_.length()), reader_.count()));
    }
    return list;
  }

 private:
  RunReader reader_;
  std::atomic<bool> flag_ = false;
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

nb::object hf_bpe::merger_of(std::vector<WordCounts> tables) {
  std::vector<RunMerger::Input> inputs;
  {
    const nb::gil_scoped_release no_gil;
    inputs = sort_all(std::move(tables));
  }
  return nb::cast(new PyRunMerger(std::move(inputs)), nb::rv_policy::take_ownership);
}

void hf_bpe::bind_runs(nb::module_& module) {
  nb::class_<PyRunMerger>(module, "RunMerger")
      .def(
          "__init__",
          [](PyRunMerger* self, const std::vector<nb::object>& runs, const std::vector<std::uint64_t>& multipliers,
             std::uint64_t least) {
            if (runs.size() != multipliers.size()) throw nb::value_error("expected a multiplier for each run");
            std::vector<RunMerger::Input> inputs;
            for (std::size_t i = 0; i < runs.size(); ++i) {
              inputs.push_back({std::make_unique<RunReader>(refill_from(runs[i])), multipliers[i]});
            }
            new (self) PyRunMerger(std::move(inputs), least);
          },
          "runs"_a, "multipliers"_a, "least"_a = 1)
      .def("read", &PyRunMerger::read, "size"_a)
      .def_prop_ro("words", &PyRunMerger::words)
      .def_prop_ro("total", &PyRunMerger::total);

  nb::class_<PyRunReader>(module, "RunReader")
      .def("__init__", [](PyRunReader* self, nb::object run) { new (self) PyRunReader(run); }, "run"_a)
      .def("next", &PyRunReader::next, "words"_a);
}
