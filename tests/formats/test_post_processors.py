"""Templates, and post-processors of `tokenizer.json`, give what the fast tokenizer gives."""

import json
import pickle
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

from hf_bpe import BPEModel, BPETokenizer
from hf_bpe.conversion import Definition
from hf_bpe.formats import Template, TemplatePiece
from hf_bpe.formats._files.tokenizer_json_writing import render_tokenizer_json
from hf_bpe.pretokenizers import ByteLevel
from support.cases import case, check_refusals
from support.models.model_families import Family, load
from support.profiles import by_profile
from support.strategies import BYTES

CORPUS = ["low lower lowest newest  widest \n\n  the  new "] * 3
TOKENIZER = BPETokenizer.train(CORPUS, num_merges=24, special_tokens=["<s>", "</s>", "[CLS]"])
TOKENIZER.add_tokens([AddedToken("<mask>", lstrip=True), AddedToken("  <end>", lstrip=True, rstrip=True)])
CONTENT = json.loads(render_tokenizer_json(TOKENIZER.definition))
IDS = TOKENIZER.model.special_ids()
COLUMNS = ("input_ids", "offset_mapping", "special_tokens_mask")

PIECES = ["low", " low", "  low", "lowest ", "    low", "   ", " ", " \n", "\n\n", "é", "<s>", "</s> ", "\t", "the"]
texts = st.lists(st.sampled_from([*PIECES, "<mask>", " <mask>", "\u2003<mask>", "  <end>"]), max_size=8).map("".join)
flags = st.booleans()
byte_levels = st.fixed_dictionaries(
    {"type": st.just("ByteLevel"), "add_prefix_space": flags, "trim_offsets": flags, "use_regex": st.just(True)}
)


def pieces(sequences):
    """Return a strategy for the pieces of a template; the special token "two" is two tokens."""
    type_ids = st.sampled_from([0, 0, 1, 3])
    special = st.builds(
        lambda name, type_id: {"SpecialToken": {"id": name, "type_id": type_id}},
        st.sampled_from([*IDS, "two"]),
        type_ids,
    )
    groups = [st.lists(special, max_size=3)]
    for name in sequences:
        piece = type_ids.map(lambda type_id, name=name: [{"Sequence": {"id": name, "type_id": type_id}}])
        groups += [piece, st.lists(special, max_size=3)]
    return st.tuples(*groups).map(lambda drawn: [piece for group in drawn for piece in group])


SPECIAL_TOKENS = {name: {"id": name, "ids": [token_id], "tokens": [name]} for name, token_id in IDS.items()}
SPECIAL_TOKENS["two"] = {"id": "two", "ids": [IDS["<s>"], IDS["</s>"]], "tokens": ["<s>", "</s>"]}
templates = st.fixed_dictionaries(
    {
        "type": st.just("TemplateProcessing"),
        "single": pieces("A"),
        "pair": pieces("AB"),
        "special_tokens": st.just(SPECIAL_TOKENS),
    }
)
ENDS = {"sep": ["</s>", IDS["</s>"]], "cls": ["[CLS]", IDS["[CLS]"]]}
processors = st.one_of(
    templates,
    byte_levels,
    st.just({"type": "BertProcessing", **ENDS}),
    st.builds(lambda flags: {**flags, "type": "RobertaProcessing", **ENDS}, byte_levels),
    st.permutations([byte_levels, templates]).flatmap(
        lambda parts: st.tuples(*parts).map(lambda drawn: {"type": "Sequence", "processors": [*drawn]})
    ),
)


def loaded(processor, add_prefix_space=False):
    """Return the tokenizers that transformers and we make of a tokenizer.json with a post-processor."""
    byte_level = {"type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": True, "use_regex": True}
    content = json.dumps({**CONTENT, "pre_tokenizer": byte_level, "post_processor": processor})
    fast = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(content), pad_token="</s>")
    return fast, BPETokenizer.convert_from(Tokenizer.from_str(content), pad_token="</s>")


@settings(max_examples=by_profile(quick=60, thorough=120))
@given(processors, flags, texts, texts.filter(bool), flags, flags, st.none() | st.integers(22, 28))
def test_random_post_processors_give_what_fast_tokenizers_give(processor, prefix, first, second, is_pair, adds, length):
    fast, ours = loaded(processor, prefix)
    given = (first, second) if is_pair else (first,)
    columns = {"return_offsets_mapping": True, "return_special_tokens_mask": True, "return_token_type_ids": True}
    options = {"add_special_tokens": adds, "max_length": length, "truncation": length is not None, **columns}
    expected, got = fast(*given, **options), ours(*given, **options)
    has_type_ids = ours.template is not None and ours.template.has_type_ids
    for name in (*COLUMNS, *(["token_type_ids"] if has_type_ids else [])):
        assert got[name] == expected[name], name
    parts = [ours.encode(text, add_special_tokens=False) for text in given]
    whole = fast(*given, **columns)
    assert ours.build_inputs_with_special_tokens(*parts) == whole["input_ids"]
    assert ours.get_special_tokens_mask(*parts) == whole["special_tokens_mask"]
    assert ours.num_special_tokens_to_add(is_pair) == sum(whole["special_tokens_mask"])
    assert pickle.loads(pickle.dumps(got)).encodings[0].offsets == got["offset_mapping"]
    again = BPETokenizer.convert_from(Tokenizer.from_buffer(render_tokenizer_json(ours.definition)))
    assert (again.template, again.trim_offsets) == (ours.template, ours.trim_offsets)


def template(single, pair, token=("<s>", IDS["<s>"])):
    return json.loads(TemplateProcessing(single, pair, [token]).__getstate__())


OTHER_SEQUENCES = [("$A", "$B:1 $A"), ("$A <s> $A", "$A $B"), ("$A $B", "$A $B"), ("<s>", "$A $B")]
OTHER_IDS = [{"id": "<s>", "ids": ids, "tokens": ["<s>"] * len(ids)} for ids in ([264], [IDS["<s>"], 264])]


def test_other_post_processors_are_refused(tmp_path):
    for processor, message in (
        *((template(*sequences), r"expected the sequences \['A'") for sequences in OTHER_SEQUENCES),
        *((template("<s> $A", "$A $B", token), "adds '<s>' as the id 264; expected a token") for token in OTHER_IDS),
        ({"type": "Unknown"}, "is not one of TemplateProcessing, RobertaProcessing, BertProcessing with ByteLevel"),
        ({"type": "Sequence", "processors": [{"type": "BertProcessing", **ENDS}] * 2}, "is not one of Template"),
        ({"type": "BertProcessing", **ENDS, "cls": ["[CLS]", 7]}, r"it adds '\[CLS\]' as the id 7; expected"),
        (
            {"type": "BertProcessing", **ENDS, "sep": ["low", 264]},
            "it adds 'low' as the id 264; expected a token with its own id",
        ),
        (
            {
                "type": "Sequence",
                "processors": [
                    {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True} for prefix in (True, False)
                ],
            },
            "trims offsets in two ways",
        ),
    ):
        (tmp_path / "tokenizer.json").write_text(json.dumps({**CONTENT, "post_processor": processor}))
        with case(processor), pytest.raises(ValueError, match=rf"tokenizer\.json: its post-processor .*{message}"):
            BPETokenizer.convert_from(tmp_path / "tokenizer.json")


def test_trim_offsets_is_checked():
    for value in ("all", 1, None):
        with case(value), pytest.raises(ValueError, match="trim_offsets: expected True, False or 'prefix', got"):
            BPETokenizer(model=TOKENIZER.model, trim_offsets=value)


MERGES = [(b" ", b" "), (b"  ", b" "), (b"   ", b"a"), (b"  ", b"a"), (b" ", b"a"), (b"a", b" "), (b"\n", b" ")]
VOCAB = {byte: bytes([byte]) for byte in range(256)} | {256 + rank: a + b for rank, (a, b) in enumerate(MERGES)}


@pytest.mark.parametrize("keeps_first", [False, True])
@pytest.mark.parametrize("prefix", [False, True])
def test_spaces_inside_tokens_are_trimmed_as_by_tokenizers(prefix, keeps_first):
    family = Family(
        (ByteLevel(add_prefix_space=prefix),),
        post_processor={"type": "ByteLevel", "add_prefix_space": keeps_first, "trim_offsets": True, "use_regex": True},
    )
    theirs, ours = load(family, BPEModel(VOCAB, MERGES, pattern=None))
    for size in range(1, 6):
        for text in map("".join, product(" a\né", repeat=size)):
            assert ours(text).encodings[0].offsets == theirs.encode(text).offsets, text


TOKENS = ["<s>", "</s>", "<b>"]
MODEL = BPEModel(BYTES | {256: b"<s>", 257: b"</s>", 258: b"<b>"}, [], TOKENS)
A, B = TemplatePiece("A", True), TemplatePiece("B", True, 1)

drawn_pieces = st.builds(TemplatePiece, st.sampled_from(TOKENS), st.just(False), st.integers(0, 1))
drawn_parts = st.tuples(*[st.lists(drawn_pieces, max_size=2)] * 5)
drawn_templates = drawn_parts.map(lambda each: Template((*each[0], A, *each[1]), (*each[2], A, *each[3], B, *each[4])))


@pytest.fixture
def tokenizer():
    return BPETokenizer(model=MODEL)


@given(drawn_templates)
def test_json_form_is_read_back(template):
    assert Template.from_json(template.to_json()) == template
    read = Definition(MODEL, {}, {"template": template.to_json()})
    assert read.template == (template if template.tokens else None)
    backend = BPETokenizer(model=MODEL, template=template).backend_tokenizer
    assert (backend.post_processor is None) == (not template.tokens)


def test_invalid_templates_are_refused():
    rows = [
        ("<s> $A", r"template: expected single and pair, .*got '<s> \$A'"),
        ({"single": []}, "template: expected single and pair, "),
        ({"single": [{"Sequence": {"id": "A"}}], "pair": []}, "template: expected single and pair, "),
        (
            {"single": [{"Sequence": {"id": "A", "type_id": 0}, "b": 1}], "pair": []},
            "template: expected single and pair",
        ),
        ({"single": [{"Token": {"id": "A", "type_id": 0}}], "pair": []}, "template: expected single and pair, "),
        ({"single": [], "pair": []}, r"template: single: expected the sequences \['A'\], got \[\]"),
    ]
    check_refusals(rows, Template.from_json)
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
    assert TemplateProcessing is type(new.backend_tokenizer.post_processor)
