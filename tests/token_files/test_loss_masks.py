"""Loss masks say of each id whether it is learned, whatever divides, packs and stores the ids."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerFast

from hf_bpe import BPETokenizer, Source, accelerate
from hf_bpe.token_files import merge_manifests
from support.cases import case
from support.profiles import by_profile
from support.token_files import END, read_table, rows_of, set_limits, write_jsonl

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def expected_rows(tokenizer, records, drops_ends):
    """Return ids and masks of documents by the definition: token by token, and byte by byte."""
    rows = []
    for text, ranges in records:
        ids = tokenizer.encode(text, split_special_tokens=True)
        ends = np.cumsum([len(tokenizer.decode_bytes([each])) for each in ids])

        def token(character, text=text, ends=ends):
            """Return the number of the first token that has bytes of a character; after the last one, of the end."""
            place = len(text[:character].encode())
            return sum(1 for end in ends if end <= place)

        mask, kept = [1] * len(ids), len(ids)
        for begin, end in ranges or ():
            if begin == end:
                continue
            for each in range(token(begin), token(end)):
                mask[each] = 0
            if token(end) == len(ids):
                kept = min(kept, token(begin))
        if drops_ends and kept < len(ids):
            ids, mask = ids[:kept], mask[:kept]
        else:
            ids, mask = [*ids, tokenizer.eos_token_id], [*mask, 1]
        if text and ids:
            rows.append([*zip(ids, mask, strict=True)])
    return rows


def rows_in(written):
    """Return rows of pairs of an id and its mask."""
    rows = []
    for path in written.files:
        if path.suffix == ".ds":
            ids, mask = np.fromfile(path, "<u2"), np.fromfile(path.with_name(path.name + ".loss"), np.uint8)
            ends = np.fromfile(path.with_name(path.name + ".index"), "<u8").astype(int)
            rows += [[*map(tuple, part.tolist())] for part in np.split(np.stack([ids, mask], 1), ends)[:-1]]
        elif path.suffix in (".parquet", ".arrow"):
            rows += [[*zip(row["input_ids"], row["loss_mask"], strict=True)] for row in read_table(path).to_pylist()]
    return rows


@st.composite
def records(draw):
    text = "".join(draw(st.lists(st.sampled_from(["low", " newest", "你好", "é", END, "\n"]), max_size=5)))
    bounds = sorted(draw(st.lists(st.integers(0, len(text)), max_size=6)))
    return text, draw(st.sampled_from([[*zip(bounds[::2], bounds[1::2], strict=False)], None]))


def write(path, records):
    if path.suffix == ".parquet":
        ranges = pa.array([each for _, each in records], pa.list_(pa.list_(pa.int64())))
        pq.write_table(pa.table({"text": [text for text, _ in records], "no_loss": ranges}), path)
    else:
        write_jsonl(path, [{"text": text, "no_loss": each} for text, each in records])
    return path


EDGES = "low newest 你好 é"
EDGE_RANGES = [None, [], [(0, 3)], [(1, 2), (4, 7)], [(3, len(EDGES))], [(0, len(EDGES))], [(0, 1), (12, len(EDGES))]]
EDGE_FILES = [[(EDGES, each) for each in EDGE_RANGES]]


@settings(max_examples=by_profile(quick=30, thorough=300), deadline=None)
@example(EDGE_FILES, ".jsonl", "strict", "datatrove", None, False, None, (99, 99, 999, 999), True)
@example(EDGE_FILES, ".jsonl", "strict", "parquet", None, False, None, (99, 99, 999, 999), False)
@given(
    files=st.lists(st.lists(records(), min_size=1, max_size=6), min_size=1, max_size=3),
    kind=st.sampled_from([".jsonl", ".parquet"]),
    errors=st.sampled_from(["strict", "bytes"]),
    format=st.sampled_from(["datatrove", "parquet", "arrow"]),
    pack=st.sampled_from([None, 1, 3]),
    across=st.booleans(),
    parts=st.sampled_from([None, 1, 3]),
    sizes=st.tuples(st.integers(1, 30), st.integers(1, 9), st.integers(1, 9), st.integers(1, 50)),
    is_resumable=st.booleans(),
)
def test_each_id_has_its_mask(
    tokenizer, tmp_path_factory, files, kind, errors, format, pack, across, parts, sizes, is_resumable
):
    folder = tmp_path_factory.mktemp("masks")
    expected = expected_rows(tokenizer, [each for records in files for each in records], format == "datatrove")
    across = across and parts is None  # sequences end with their part
    expected = rows_of(expected, pack, across)
    if not expected:
        return
    paths = [write(folder / f"{number}{kind}", records) for number, records in enumerate(files)]
    options = {"format": format, "loss_mask": "no_loss", "num_workers": 1}
    options |= {} if pack is None else {"pack": pack, "pack_across": across}
    with pytest.MonkeyPatch.context() as patch:
        set_limits(patch, piece_ids=sizes[0], read_ids=sizes[1], block_bytes=sizes[2], unit_bytes=sizes[3])

        def encode(share=None):
            sources = [Source(str(path), errors=errors) for path in paths]
            work = folder / f"work{share}" if is_resumable else None
            return tokenizer.encode_files(sources, folder / "out" / "c", shard=share, work_dir=work, **options)

        written = encode() if parts is None else None
        if parts is not None:
            for part in range(parts):
                encode((part, parts))
            written = merge_manifests(folder / "out")
    assert rows_in(written) == expected


def test_the_mask_of_another_run_does_not_stay(tokenizer, tmp_path):
    path = write(tmp_path / "in.jsonl", [("low", [(0, 1)])])
    tokenizer.encode_files(path, tmp_path / "out" / "c", format="datatrove", loss_mask="no_loss")
    assert (tmp_path / "out" / "c.ds.loss").exists()
    written = tokenizer.encode_files(path, tmp_path / "out" / "c", format="datatrove")
    assert {*(tmp_path / "out").iterdir()} == {*written.files, written.manifest}


def test_masks_stand_beside_copied_columns(tokenizer, tmp_path):
    path = write(tmp_path / "in.jsonl", [("low newest", [(0, 3)]), ("", None), ("low", None)])
    options = {"format": "parquet", "copy_columns": ["text"]}
    rows = read_table(tokenizer.encode_files(path, tmp_path / "a", loss_mask="no_loss", **options).ids).to_pylist()
    assert [*rows[0]] == ["input_ids", "loss_mask", "text"]
    assert [row["text"] for row in rows] == ["low newest", "low"]
    write_jsonl(path, [{"text": "low", "loss_mask": "a"}])
    rows = read_table(tokenizer.encode_files(path, tmp_path / "b", **{**options, "copy_columns": ["loss_mask"]}).ids)
    assert rows.column("loss_mask").to_pylist() == ["a"]


def test_what_is_no_range_is_malformed_input(tokenizer, tmp_path):
    path, options = tmp_path / "in.jsonl", {"format": "parquet", "loss_mask": "no_loss"}
    for text, ranges, message in (
        *(
            (b"low", ranges, "expected ranges without loss, pairs .* from 0 to 3")
            for ranges in ([[0, 4]], [[2, 1]], [[-1, 2]], [[0.5, 1]], [[True, 1]], [0, 1], "0-1", {"a": 1}, [[0]])
        ),
        (b"low\xff", [[0, 1]], "expected UTF-8, because ranges without loss count"),
    ):
        path.write_bytes(b'{"text": "%s", "no_loss": %s}\n' % (text, json.dumps(ranges).encode()))
        with path.open("a") as file:
            file.write('{"text": "newest", "no_loss": null}\n')
        with case(ranges), pytest.raises(ValueError, match=rf"in\.jsonl: record 0: {message}"):
            tokenizer.encode_files(path, tmp_path / "out", **options)
        source = Source(str(path), errors="bytes", on_error="skip")
        written = tokenizer.encode_files(source, tmp_path / "out", **options)
        assert len(rows_in(written)) == 1
        assert json.loads(written.manifest.read_text())["skipped"]["documents"] == 1


def test_a_part_names_the_record_of_its_file(tokenizer, tmp_path):
    path = write(tmp_path / "in.jsonl", [*[("low newest", None)] * 30, ("low", [[0, 4]])])
    with pytest.raises(ValueError, match=r"in\.jsonl: record 30: expected ranges without loss"):
        tokenizer.encode_files(path, tmp_path / "out", format="parquet", loss_mask="no_loss", shard=(1, 2))


CHATML = """{%- for m in messages %}<|im_start|>{{ m.role }}
{% if m.role == 'assistant' %}{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}
{% else %}{{ m.content }}<|im_end|>
{% endif %}{% endfor %}"""


def test_chats_have_the_ids_and_masks_of_transformers(tmp_path, test_data):
    """With the vocabulary of Qwen3, the template of its chats with answers marked, and the function of the guide."""
    guide = (Path(__file__).parents[2] / "docs" / "how-to" / "tokenize-a-corpus.md").read_text("utf-8")
    code = re.search(r"^>>> from transformers.utils.chat_template.*?^>>> tokenizer", guide, re.MULTILINE | re.DOTALL)[0]
    namespace = {}
    exec("".join(line[4:] + "\n" for line in code.splitlines()[:-1]), namespace)
    qwen = BPETokenizer.from_pretrained(test_data / "tokenizers" / "qwen3")
    qwen.chat_template = CHATML
    turns = ["What is 你好?", "It means *hello*.\n\n", "  And\t“é”?", "An e with an acute accent 👋🏽"]
    chats = []
    for length in (1, 2, 3, 4):
        roles = ["user", "assistant"] * 2
        chats.append([{"role": role, "content": text} for role, text in zip(roles, turns[:length], strict=False)])
    lines = [json.dumps(namespace["chat_record"](qwen, chat)) + "\n" for chat in chats]
    (tmp_path / "chats.jsonl").write_text("".join(lines), encoding="utf-8")
    options = {"format": "parquet", "loss_mask": "no_loss", "separator": "<|endoftext|>", "append_separator": False}
    written = qwen.encode_files(tmp_path / "chats.jsonl", tmp_path / "out", **options)
    for row, chat in zip(pq.read_table(written.ids).to_pylist(), chats, strict=True):
        expected = qwen.apply_chat_template(chat, return_dict=True, return_assistant_tokens_mask=True)
        assert row["input_ids"] == expected["input_ids"]
        assert row["loss_mask"] == expected["assistant_masks"]
        assert (1 in row["loss_mask"]) == (len(chat) > 1)


TURNS = """{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}
{%- else %}{{ m.content }}{% endif %}{% endfor %}"""


@pytest.mark.parametrize(
    ("turns", "in_files", "in_chats"),
    [
        # transformers before 5.24 marks other ids where an answer begins with or ends in an accent: only equal to fast.
        (["ae\u0301", "x"], [0, 0, 0, 1], [0, 0, 0, 1]),
        (["a", "e\u0301", "x"], [0, 1, 1, 0], None),
        (["ae", "\u0301x"], [0, 0, 0, 1], None),
        (["ae", "\u0301", "x"], [0, 0, 0, 0], None),
        (["a", "e", "\u0301x"], [0, 1, 1, 0], [0, 1, 1, 0]),
        # "low" is a token.
        (["a", "lo", "w"], [0, 0], [0, 1]),
        (["alo", "w", "x"], [0, 1, 0], [0, 1, 0]),
    ],
)
def test_masks_at_the_edges_of_tokens(tmp_path, turns, in_files, in_chats):
    tokenizer = BPETokenizer.train(["low low"], num_merges=2, normalizer="NFC", special_tokens=[END])
    tokenizer.chat_template = TURNS
    bounds = np.cumsum([0, *map(len, turns)]).tolist()
    text = "".join(turns)
    path = write(tmp_path / "in.jsonl", [(text, [*zip(bounds[::2], [*bounds[1::2], len(text)], strict=False)])])
    written = tokenizer.encode_files(path, tmp_path / "out", format="parquet", loss_mask="no_loss")
    assert pq.read_table(written.ids).column("loss_mask").to_pylist() == [[*in_files, 1]]
    chat = [{"role": role, "content": turn} for role, turn in zip(["user", "assistant", "user"], turns, strict=False)]
    tokenizer.save_pretrained(tmp_path / "saved")
    fast = PreTrainedTokenizerFast.from_pretrained(tmp_path / "saved")
    ours, theirs, accelerated = (
        each.apply_chat_template(chat, return_dict=True, return_assistant_tokens_mask=True)
        for each in (tokenizer, fast, accelerate(fast))
    )
    assert ours == theirs == accelerated
    assert in_chats in (None, ours["assistant_masks"])
