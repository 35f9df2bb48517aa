"""What hf_bpe overrides or calls in transformers is as it was when it was written; a difference is shown."""

import inspect

import pytest
from transformers import PreTrainedTokenizer, PreTrainedTokenizerFast

from hf_bpe import BPETokenizer, BPETokenizerFast
from support.upstream_inventory import OLDER, SIGNATURES

UPSTREAM = {"PreTrainedTokenizer": PreTrainedTokenizer, "PreTrainedTokenizerFast": PreTrainedTokenizerFast}
OURS = {"PreTrainedTokenizer": BPETokenizer, "PreTrainedTokenizerFast": BPETokenizerFast}
# Of Python, not of transformers.
OF_PYTHON = {"__doc__", "__module__", "__getstate__", "__setattr__", "__repr__", "__firstlineno__"}
OF_PYTHON |= {"__annotations__", "__dict__", "__weakref__", "__static_attributes__", "__annotate_func__"}
OF_PYTHON |= {"__init_subclass__", "__slotnames__"}  # of copy and pickle


def signature_of(upstream, name):
    """Return the parameters of a method, or what else it is, as the inventory has it."""
    if not hasattr(upstream, name):
        return "absent"
    found = inspect.getattr_static(upstream, name)
    function = getattr(found, "__func__", found)
    if isinstance(found, property):
        return "property"
    if not callable(function):
        return "attribute"
    parameters = inspect.signature(inspect.unwrap(function)).parameters.values()
    return ", ".join(map(written, [each for each in parameters if each.name not in ("self", "cls")]))


def written(parameter):
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    return f"{stars}{parameter.name}{'=' if parameter.default is not parameter.empty else ''}"


def overridden(name):
    """Return the names of a class of transformers that ours defines again."""
    classes = OURS[name].__mro__[: OURS[name].__mro__.index(UPSTREAM[name])]
    names = {each for cls in classes for each in vars(cls)} - OF_PYTHON
    return {f"{name}.{each}" for each in names if hasattr(UPSTREAM[name], each)}


def test_upstream_names_have_known_signatures():
    unknown = []
    for name, signature in SIGNATURES.items():
        cls, _, method = name.partition(".")
        installed = signature_of(UPSTREAM[cls], method)
        if installed not in (signature, OLDER.get(name)):
            unknown.append(f"{name} of the installed transformers:\n  {installed}\nknown:\n  {signature}")
    assert not unknown, "\n".join(unknown)


@pytest.mark.parametrize("name", OURS)
def test_all_that_is_overridden_is_in_the_inventory(name):
    assert overridden(name) <= {*SIGNATURES}


@pytest.mark.parametrize("name", OURS)
def test_all_that_direct_methods_look_at_is_in_the_inventory(name):
    looked_at = set()
    for hook in dir(UPSTREAM[name]):
        other = OURS[name] if hook.startswith("__") else type("Other", (OURS[name],), {hook: None})
        if not all(getattr(other, each) for each in dir(other) if each.startswith("_answers_")):
            looked_at.add(f"{name}.{hook}")
    assert len(looked_at) > 5
    assert looked_at <= {*SIGNATURES}
