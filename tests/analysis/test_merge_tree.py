"""The tree of a token: what is said of it is so."""

import io
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from hf_bpe import BPEModel, train
from hf_bpe.analysis import merge_tree
from hf_bpe.core import CharacterAlphabet
from hf_bpe.encoding import parts_of_tokens, unreachable
from support.cases import check_refusals
from support.samples import make_tokenizer
from support.strategies import models


def nodes_of(tree):
    """Return all trees in a tree, in the order in which they are printed."""
    nodes = [tree]
    for node in nodes:
        nodes += node.parts
    return nodes


@given(models(), st.data())
def test_trees_tell_ids_bytes_and_merges_down_to_the_bytes(model, data):
    token_id = data.draw(st.sampled_from([*model.vocab]))
    tree = merge_tree(model, token_id)
    specials = {*model.special_ids().values()}
    for node in nodes_of(tree):
        assert node.data == model.vocab[node.id]
        if node.kind.startswith("merge "):
            first, second = node.parts
            assert model.merges[int(node.kind.removeprefix("merge "))] == (first.data, second.data)
        elif node.kind == "byte":
            assert len(node.data) == 1
            assert node.parts == ()
        elif node.kind == "special token":
            assert node.id in specials
            assert node.parts == ()
        else:
            assert node is tree
            assert node.kind.startswith("only as a whole pre-token" if model.ignore_merges else "unreachable")
            assert b"".join(part.data for part in node.parts) in (node.data, b"")
            assert len(node.parts) != 1
    assert (tree.id in unreachable(model)) == (not re.match("merge|byte|special", tree.kind))


@given(models(), st.data())
def test_tree_has_a_line_a_token_in_text_and_a_box_in_html(model, data):
    tree = merge_tree(model, data.draw(st.sampled_from([*model.vocab])))
    nodes = nodes_of(tree)
    lines = str(tree).splitlines()
    said = sorted(str(replace(node, parts=())) for node in nodes)
    assert sorted(line.lstrip("│├└─ ") for line in lines) == said
    console = Console(file=io.StringIO(), width=200)
    console.print(tree)
    assert console.file.getvalue().splitlines() == lines
    html = tree._repr_html_()
    for part in ('<div class="box', "<bdi", "<li>", "</li>"):
        assert html.count(part) == len(nodes)
    assert html.count("<ul>") == html.count("</ul>") == 1 + sum(bool(node.parts) for node in nodes)


def test_tokens_are_found_by_id_bytes_text_and_printed_form():
    tokenizer = make_tokenizer()
    tree = merge_tree(tokenizer, " newest")
    assert tree.data == b" newest"
    for name in (tree.id, b" newest", "Ġnewest"):
        assert merge_tree(tokenizer, name) == tree
    assert merge_tree(tokenizer.model, " newest") == tree


def test_an_added_token_says_what_it_is():
    tokenizer = make_tokenizer()
    tokenizer.add_tokens(["<later>"])
    assert merge_tree(tokenizer, "<later>").kind == "added token"


def test_unknown_token_is_an_error_that_names_it():
    model = train(["low low lower"], num_merges=2)
    rows = [
        (99999, ValueError, "no token with the id 99999"),
        ("slow er", ValueError, r"'slow er' is not one token; it is encoded as s\|low\|·\|e\|r$"),
        ("x" * 13, ValueError, r"it is encoded as (x\|){12}…$"),
        (True, TypeError, "expected an id, the bytes or the text"),
        (None, TypeError, "expected an id, the bytes or the text"),
        (1.5, TypeError, "expected an id, the bytes or the text"),
    ]
    check_refusals(rows, lambda wrong: merge_tree(model, wrong))
    with pytest.raises(ValueError, match="there is no token 'x'; give the text of a token"):
        merge_tree(BPEModel({0: b"a"}, []), "x")


def test_trees_deeper_than_python_recurses_are_shown():
    tokens = [b"a" + b"b" * number for number in range(1500)]
    vocab = dict(enumerate([b"b", *tokens]))
    model = BPEModel(vocab, [(token, b"b") for token in tokens[:-1]], pattern=None)
    tree = merge_tree(model, tokens[-1])
    assert str(tree).count("\n") == 2 * 1499
    assert tree.to_html().count("<li>") == 2 * 1499 + 1


def test_neighbors_and_parents_have_other_colors():
    html = merge_tree(make_tokenizer(), " newest")._html()
    parents, last = [None], None
    for tag, color in re.findall(r'<(/?ul|/li|div class="box c(\d)")', html):
        if tag == "ul":
            parents.append(last)
            last = None
        elif tag == "/ul":
            last = parents.pop()
        elif color:
            assert color not in (parents[-1], last)
            last = color


def test_page_of_a_tree_names_the_token_in_title_and_heading():
    tree = merge_tree(train(["<b>"], num_merges=2, pattern=None), b"<b>")
    assert tree.to_html().count(f"Token &lt;b&gt; (id {tree.id})</") == 2
    assert tree.to_html("Tree <1>").count(">Tree &lt;1&gt;</") == 2


def test_characters_are_where_merges_begin():
    tokens = [*("a", "é", "▁", "▁a"), *(f"<0x{byte:02X}>" for byte in range(256))]
    vocab = {number: token.encode() for number, token in enumerate(tokens)}
    model = BPEModel(vocab, [("▁".encode(), b"a")], pattern=None, alphabet=CharacterAlphabet())
    assert str(merge_tree(model, 3)) == "▁a  3  merge 0\n├── ▁  2  character\n└── a  0  character"
    one, two, three = ("é" * count for count in (1, 2, 3))
    merges = [(first.encode(), second.encode()) for first, second in ((one, one), (two, one), (one, two))]
    several = replace(model, vocab={**model.vocab, 500: two.encode(), 501: three.encode()}, merges=merges)
    assert [part.id for part in merge_tree(several, 501).parts] == [500, 1]
    assert parts_of_tokens(several) == {500: (1, 1), 501: (500, 1)}
    assert [merge_tree(model, token).kind for token in ("é", "<0x0A>")] == ["character", "byte"]
