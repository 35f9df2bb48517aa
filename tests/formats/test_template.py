"""Templates: their parts, their JSON form, and what BPETokenizer does with one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import processors

from hf_bpe import BPEModel, BPETokenizer
from hf_bpe.conversion import Definition
from hf_bpe.formats import Template, TemplatePiece
from support.cases import case
from support.strategies import BYTES

TOKENS = ["<s>", "</s>", "<b>"]
MODEL = BPEModel(BYTES | {256: b"<s>", 257: b"</s>", 258: b"<b>"}, [], TOKENS)
A, B = TemplatePiece("A", True), TemplatePiece("B", True, 1)

pieces = st.builds(TemplatePiece, st.sampled_from(TOKENS), st.just(False), st.integers(0, 1))
parts = st.tuples(*[st.lists(pieces, max_size=2)] * 5)
templates = parts.map(lambda each: Template((*each[0], A, *each[1]), (*each[2], A, *each[3], B, *each[4])))


@pytest.fixture
def tokenizer():
    return BPETokenizer(model=MODEL)


@given(templates)
def test_json_form_is_read_back(template):
    assert Template.from_json(template.to_json()) == template
    read = Definition(MODEL, {}, {"template": template.to_json()})
    assert read.template == (template if template.tokens else None)


@given(templates)
def test_ids_and_mask_are_those_of_tokenizers(template):
    tokenizer = BPETokenizer(model=MODEL, template=template)
    backend = tokenizer.backend_tokenizer
    assert (backend.post_processor is None) == (not template.tokens)
    for args in (("x",), ("x", "yz")):
        expected = backend.encode(*args)
        got = tokenizer(*args, return_special_tokens_mask=True)
        assert (got["input_ids"], got["special_tokens_mask"]) == (expected.ids, expected.special_tokens_mask)
        without = tokenizer(*args, add_special_tokens=False)["input_ids"]
        assert without == backend.encode(*args, add_special_tokens=False).ids
        parts = [tokenizer.encode(text, add_special_tokens=False) for text in args]
        assert tokenizer.build_inputs_with_special_tokens(*parts) == expected.ids
        assert tokenizer.get_special_tokens_mask(*parts) == expected.special_tokens_mask
        assert tokenizer.num_special_tokens_to_add(len(args) == 2) == len(expected.ids) - len(without)


def test_invalid_templates_are_refused():
    for content, message in (
        ("<s> $A", r"template: expected single and pair, .*got '<s> \$A'"),
        ({"single": []}, "template: expected single and pair, "),
        ({"single": [{"Sequence": {"id": "A"}}], "pair": []}, "template: expected single and pair, "),
        (
            {"single": [{"Sequence": {"id": "A", "type_id": 0}, "b": 1}], "pair": []},
            "template: expected single and pair",
        ),
        ({"single": [{"Token": {"id": "A", "type_id": 0}}], "pair": []}, "template: expected single and pair, "),
        ({"single": [], "pair": []}, r"template: single: expected the sequences \['A'\], got \[\]"),
    ):
        with case(content), pytest.raises(ValueError, match=message):
            Template.from_json(content)
    with pytest.raises(ValueError, match=r"template: pair: expected the sequences \['A', 'B'\], got \['B', 'A'\]"):
        Template((A,), (B, A))


def test_a_template_of_tokens_that_there_are_not_is_refused(tokenizer):
    with pytest.raises(ValueError, match="template: '<x>' is not a token of this tokenizer; add it first"):
        tokenizer.template = Template.of_bos_eos("<x>", None)
    assert tokenizer.template is None


def test_a_template_does_not_change_with_the_names_of_its_tokens(tokenizer):
    tokenizer.bos_token, tokenizer.eos_token = "<s>", "</s>"
    tokenizer.add_bos_token = True
    tokenizer.bos_token = "<b>"
    assert tokenizer.encode("x") == [256, 120]
    assert (tokenizer.add_bos_token, tokenizer.special_tokens_pattern) == (False, "none")
    tokenizer.add_bos_token = True
    assert tokenizer.encode("x") == [258, 120]


def test_special_tokens_pattern_is_the_template_of_bos_and_eos(tokenizer):
    tokenizer.bos_token, tokenizer.eos_token = "<s>", "</s>"
    for pattern, ids in (("bos", [256, 120]), ("eos", [120, 257]), ("bos_eos", [256, 120, 257]), ("none", [120])):
        tokenizer.special_tokens_pattern = pattern
        assert (tokenizer.encode("x"), tokenizer.special_tokens_pattern) == (ids, pattern)


@given(st.sampled_from([None, *TOKENS]), st.sampled_from([None, *TOKENS]))
def test_templates_of_bos_and_eos_are_known_as_such(bos, eos):
    template = Template.of_bos_eos(bos, eos)
    if template is None:
        assert (bos, eos) == (None, None)
        return
    assert template.bos_eos(bos, eos) == (bos is not None, eos is not None)
    assert template.bos_eos("<other>", "<other>") is None
    names = {token: f"{token}2" for token in TOKENS}
    assert template.renamed(names) == Template.of_bos_eos(names.get(bos), names.get(eos))


def test_training_on_other_text_keeps_the_template(tokenizer):
    tokenizer.template = Template((TemplatePiece("<s>"), A, TemplatePiece("<b>")), (A, B, TemplatePiece("<b>")))
    new = tokenizer.train_new_from_iterator(["xy xy xy"], 261, special_tokens_map={"<b>": "<c>"})
    ids = [new.convert_tokens_to_ids(token) for token in ("<s>", "<c>")]
    assert new.encode("x") == [ids[0], 120, ids[1]]
    assert processors.TemplateProcessing is type(new.backend_tokenizer.post_processor)
