"""Edits of models whose alphabet is characters: what stays, and that `tokenizers` reads the results."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from hf_bpe import BPETokenizer, count, train
from hf_bpe.conversion import Definition
from hf_bpe.editing import add_special_tokens, extend, prune, renumber, truncate
from hf_bpe.encoding import parts_of_tokens, unreachable
from hf_bpe.encoding._merge_trees import first_tokens
from hf_bpe.formats import Pipeline
from hf_bpe.formats._files.tokenizer_json import definition_of_json
from hf_bpe.pretokenizers import Metaspace
from support.cases import case
from support.models.character_files import PREPEND, REPLACE, files, texts
from support.oracles import oracle

CORPUS = ["low lower lowest newest é", "widest 你好 newer lowlands"] * 4


def tokens_of(token, model):
    return oracle.apply_merges([*map(str.encode, token.decode())], model.merges)


NORMALIZERS = (None, REPLACE, PREPEND)  # with which no file is refused


@given(files(normalizers=NORMALIZERS))
def test_parts_are_those_that_the_merges_join_last(content):
    model = definition_of_json(content).model
    specials = {*map(str.encode, model.special_tokens)}
    lost, parts = {*unreachable(model)}, parts_of_tokens(model)
    first = first_tokens(model)
    ids = {token: token_id for token_id, token in model.vocab.items()}
    for token_id, token in model.vocab.items():
        if token_id in first or token in specials:
            assert token_id not in lost
            assert token_id not in parts
            continue
        assert (token_id in lost) == (tokens_of(token, model) != [token])
        if token_id in lost:
            assert token_id not in parts
            continue
        without = [merge for merge in model.merges if b"".join(merge) != token]
        last = oracle.apply_merges([*map(str.encode, token.decode())], without)
        assert [ids[part] for part in last] == [*parts[token_id]]


@given(files(normalizers=NORMALIZERS), texts, st.data())
def test_pruning_keeps_the_ids_of_texts_whose_tokens_stay(content, text, data):
    model = definition_of_json(content).model
    sample = sorted(model.vocab.keys() - {*unreachable(model)})
    keep = data.draw(st.lists(st.sampled_from(sample), max_size=6))
    pruned, remap = prune(model, keep=keep)
    assert {*keep} <= remap.new_ids.keys()
    assert pruned.alphabet == model.alphabet
    ids, after = (Pipeline.from_definition(Definition(each)).encode([text])[0] for each in (model, pruned))
    if {*ids} <= remap.new_ids.keys():
        assert after == [remap.new_ids[each] for each in ids]
    assert unreachable(pruned) == []


def make(**options):
    options = {"byte_fallback": True, "unk_token": "<unk>", "bos_token": "<s>", "add_bos_token": True, **options}
    return BPETokenizer.train(CORPUS, num_merges=25, **options)


def test_edited_tokenizers_are_read_by_tokenizers():
    tokenizer = make()
    tokenizer.add_tokens(["<x>"])
    model, reserved = tokenizer.model, tokenizer.added_tokens_decoder
    counts = count(CORPUS, pattern=model.pattern, special_tokens=model.special_tokens)
    edits = {
        "truncate": truncate(model, model.vocab_size - 9),
        "extend": extend(model, ["faster fastest 好你"] * 3, 4, reserved=reserved),
        "wider": extend(model, ["ñandú ñu"] * 3, 6, reserved=reserved, character_coverage=1),
        "keep": prune(model, keep=tokenizer.encode("lowest")),
        "prune": prune(model, counts=counts, vocab_size=model.vocab_size - 8),
        "add": add_special_tokens(model, ["<new>", "Ġa"], reserved=reserved),
        "renumber": renumber(model),
    }
    samples = ["lowest  of the 你好<x> faster", "ñu\n<s>é", "", " <0x41>", "wide▁"]
    for name, edit in edits.items():
        with case(name):
            edited, remap = tokenizer.with_model(edit)
            theirs = Tokenizer.from_str(edited.backend_tokenizer.to_str())
            assert BPETokenizer.convert_from(theirs).model == edited.model
            for text in samples:
                assert edited.encode(text) == theirs.encode(text).ids
                assert edited.decode(edited.encode(text)) == theirs.decode(edited.encode(text), False)
            assert remap.old_ids == {*tokenizer.get_vocab().values()}
    assert "ñ" in edits["wider"].model.printable_vocab()


def test_truncating_is_training_to_the_smaller_size():
    largest = train(CORPUS, num_merges=25, byte_fallback=True)
    for number in (0, 7, 25):
        smaller = train(CORPUS, num_merges=number, byte_fallback=True)
        assert truncate(largest, smaller.vocab_size).model == smaller
        assert largest.truncate(smaller.vocab_size).signature == smaller.signature


def test_extending_continues_the_training():
    whole = train(CORPUS, num_merges=25, pattern=Metaspace())
    first = train(CORPUS, num_merges=10, pattern=Metaspace())
    assert extend(first, CORPUS, 15).model.merges == whole.merges
    with_normalizer = replace(first, normalizer="NFKC")
    longer = extend(with_normalizer, ["ｌｏｗｅｒｗｉｄｅ"] * 9, 1).model
    assert longer.normalizer == with_normalizer.normalizer


def test_new_embeddings_are_made_from_the_bytes_of_a_character():
    tokenizer = make()
    edited, remap = tokenizer.with_model(extend(tokenizer.model, ["ñu ñu"] * 3, 3, character_coverage=1))
    fallback = tokenizer.convert_tokens_to_ids(["<0xC3>", "<0xB1>"])
    assert remap.added[edited.convert_tokens_to_ids("ñ")] == tuple(fallback)
    assert not remap.moves
