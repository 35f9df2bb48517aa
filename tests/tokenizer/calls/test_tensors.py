"""Tensors that a call asks for: the same kinds as of a fast tokenizer, and the same errors for missing libraries."""

from support.processes import run_code
from support.samples import make_tokenizer

CALLS = """
import sys
for name in ("torch", "mlx"):
    sys.modules[name] = None  # not installed, wherever this runs
from hf_bpe import BPETokenizer, BPETokenizerFast, accelerate
from transformers import PreTrainedTokenizerFast
from transformers.utils import TensorType

plain, *ours = (kind.from_pretrained(sys.argv[1]) for kind in (PreTrainedTokenizerFast, BPETokenizer, BPETokenizerFast))
ours.append(accelerate(plain))  # whose class has the name of the plain one
chat, template = [{"role": "user", "content": "low"}], "{{ messages[0].content }}"
calls = {
    "a text": lambda tokenizer, kind: tokenizer("low", return_tensors=kind),
    "texts": lambda tokenizer, kind: tokenizer(["low lower", "low"], padding=True, return_tensors=kind),
    "texts cut": lambda tokenizer, kind: tokenizer(["low er"], truncation=True, max_length=1, return_tensors=kind),
    "ragged": lambda tokenizer, kind: tokenizer(["low lower", "low"], return_tensors=kind),
    "a pair": lambda tokenizer, kind: tokenizer("low", "lower", return_tensors=kind),
    "no texts": lambda tokenizer, kind: tokenizer([""], return_tensors=kind),
    "encode": lambda tokenizer, kind: tokenizer.encode("low", return_tensors=kind),
    "pad": lambda tokenizer, kind: tokenizer.pad([{"input_ids": [1, 2]}, {"input_ids": [3]}], return_tensors=kind),
    "pad one": lambda tokenizer, kind: tokenizer.pad({"input_ids": [1]}, return_tensors=kind),
    "chat": lambda tokenizer, kind: tokenizer.apply_chat_template(chat, chat_template=template, return_tensors=kind),
}

def outcome(call, tokenizer, kind):
    try:
        result = call(tokenizer, kind)
    except Exception as error:
        return type(error).__name__, str(error) if isinstance(error, ImportError) else ""
    return [type(value).__name__ for value in result.values()] if hasattr(result, "values") else type(result).__name__

expected, found = {}, []
for kind in [*TensorType, *(each.value for each in TensorType), "tf", "jax", "numpy", ""]:
    for name, call in calls.items():
        at = f"{name}, {kind!r}"
        expected[at] = outcome(call, plain, kind)
        got = {type(each).__name__: outcome(call, each, kind) for each in ours}
        found += [[name, at, each] for name, each in got.items() if each != expected[at]]
print(json.dumps([expected, found]))
"""


def test_tensors_and_errors_are_those_of_a_fast_tokenizer(tmp_path):
    make_tokenizer().save_pretrained(tmp_path)
    expected, found = run_code(CALLS, tmp_path)
    assert found == []
    missing = "Unable to convert output to PyTorch tensors format, PyTorch is not installed."
    assert expected["a text, 'pt'"] == ["ImportError", missing]
    assert {tuple(outcome) for name, outcome in expected.items() if name.endswith(" 'np'")} >= {("ndarray", "ndarray")}
