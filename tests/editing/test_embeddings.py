"""Models of transformers whose embeddings follow an edited tokenizer."""

import logging

import pytest

torch = pytest.importorskip("torch", reason="models need torch")

import transformers  # noqa: E402
from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from hf_bpe.editing import Remap, add_special_tokens, extend, prune, renumber  # noqa: E402
from hf_bpe.editing.embeddings import remap_embeddings  # noqa: E402
from support.samples import make_tokenizer  # noqa: E402
from support.strategies import remaps  # noqa: E402

SIZE = 301  # rows, at least
LAYER = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}


def small(name, rows=SIZE, tied=False, **settings):
    """Return a model of random weights, biases included."""
    sizes = {
        "gpt2": {"n_embd": 8, "n_head": 2, "n_layer": 1, "n_positions": 64},
        "llama": LAYER,
        "roberta": {**LAYER, "max_position_embeddings": 64, "is_decoder": True},
        "bart": {
            **{"d_model": 8, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2},
            **{"decoder_attention_heads": 2, "encoder_ffn_dim": 8, "decoder_ffn_dim": 8},
            **{"max_position_embeddings": 64, "forced_eos_token_id": None},
        },
        "phi": LAYER,
    }[name]
    ids = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"))
    ids |= {"decoder_start_token_id": None} if name == "bart" else {}
    ids |= {"pad_token_id": 1} if name in ("roberta", "bart") else {}
    config = transformers.AutoConfig.for_model(
        name, vocab_size=rows, tie_word_embeddings=tied, **{**sizes, **ids, **settings}
    )
    kind = transformers.AutoModelForSeq2SeqLM if name == "bart" else transformers.AutoModelForCausalLM
    torch.manual_seed(7)
    model = kind.from_config(config).eval()
    with torch.no_grad():
        for tensor in (getattr(model.get_output_embeddings(), "bias", None), getattr(model, "final_logits_bias", None)):
            if tensor is not None:
                tensor.normal_()
    return model


def logits(model, ids):
    ids = torch.tensor([ids])
    with torch.no_grad():
        both = {"decoder_input_ids": ids} if model.config.is_encoder_decoder else {}
        return model(input_ids=ids, **both).logits[0]


KINDS = [
    *(("gpt2", True), ("gpt2", False), ("llama", True), ("llama", False)),
    *(("roberta", True), ("bart", True), ("phi", False)),
]


@pytest.mark.parametrize(("name", "tied"), KINDS)
def test_kept_tokens_have_equal_logits_and_new_ones_their_mean(name, tied):
    model = small(name, tied=tied)
    olds = range(SIZE)
    kept = {0: 0, 1: 1, **{old: old // 2 + 1 for old in olds if old > 1 and old % 2 == 0}}
    highest = max(kept.values())
    remap = Remap(kept, {highest + 1: (3, 4, 4), highest + 2: ()}, tuple({*olds} - kept.keys()))
    text = [0, 4, 18, 300, 4]
    before = logits(model, text)
    remap_embeddings(model, remap)
    after = logits(model, [kept[old] for old in text])
    assert after.shape[-1] == highest + 3 == model.config.vocab_size
    torch.testing.assert_close(after[:, [*kept.values()]], before[:, [*kept]])
    # Logits are linear in the rows and the biases of the output.
    torch.testing.assert_close(after[:, highest + 1], (before[:, 3] + 2 * before[:, 4]) / 3)
    torch.testing.assert_close(after[:, highest + 2], before[:, :SIZE].mean(1))
    assert (model.get_output_embeddings().weight is model.get_input_embeddings().weight) == tied


@given(remaps(), st.booleans(), st.sampled_from([1, 8]), st.sampled_from(["float32", "bfloat16"]))
def test_embedding_rows_follow_their_tokens_for_any_edit(remap, tied, multiple, dtype):
    if not remap.sources:
        return
    model = small("gpt2", tied=tied).to(getattr(torch, dtype))
    tables = [model.get_input_embeddings(), model.get_output_embeddings()]
    before = [table.weight.detach().clone() for table in tables]
    tables[0].weight.requires_grad_(False)
    remap_embeddings(model, remap, pad_to_multiple_of=multiple)
    size = -(-(max(remap.sources) + 1) // multiple) * multiple
    assert model.config.vocab_size == size
    for table, old in zip([model.get_input_embeddings(), model.get_output_embeddings()], before, strict=True):
        assert table.weight.dtype == old.dtype
        assert table.weight.shape == (size, 8)
        for new in range(size):
            sources = remap.sources.get(new) or sorted(remap.old_ids)
            if new in remap.new_ids.values():
                assert torch.equal(table.weight[new], old[sources[0]])
            elif sources:
                expected = old[[*sources]].float().mean(0).to(old.dtype)
                torch.testing.assert_close(table.weight[new], expected)
    assert not model.get_input_embeddings().weight.requires_grad
    assert model.get_output_embeddings().weight.requires_grad == (not tied)


def test_ids_in_the_configuration_follow_their_tokens():
    model = small("llama", bos_token_id=5, eos_token_id=[6, 7], pad_token_id=8)
    model.generation_config.suppress_tokens = [5, 8]
    model.generation_config.bad_words_ids = [[5, 6], [7]]
    model.generation_config.bos_token_id = -1
    assert model.get_input_embeddings().padding_idx == 8
    remap_embeddings(model, Remap({old: old - 3 for old in range(3, SIZE)}, {}, (0, 1, 2)))
    config, generation = model.config, model.generation_config
    assert [config.bos_token_id, config.eos_token_id, config.pad_token_id] == [2, [3, 4], 5]
    assert [generation.bos_token_id, generation.eos_token_id, generation.pad_token_id] == [-1, [3, 4], 5]
    assert [generation.suppress_tokens, generation.bad_words_ids] == [[2, 5], [[2, 3], [4]]]
    assert model.get_input_embeddings().padding_idx == 5


def test_nested_configurations_follow_too():
    vision = {**LAYER, "image_size": 8, "patch_size": 4, "projection_dim": 8}
    config = transformers.LlavaConfig(
        text_config={"model_type": "llama", "vocab_size": SIZE, "pad_token_id": None, **LAYER},
        vision_config={"model_type": "clip_vision_model", **vision},
        image_token_id=9,
    )
    model = transformers.LlavaForConditionalGeneration(config)
    model.config.text_config.eos_token_id = 7
    model.config.text_config.bos_token_id = None
    model.generation_config = transformers.GenerationConfig()
    remap_embeddings(model, Remap({old: old - 3 for old in range(3, SIZE)}, {}, (0, 1, 2)))
    assert model.config.text_config.vocab_size == SIZE - 3
    assert model.config.text_config.eos_token_id == 4
    assert model.config.image_token_id == 6


@pytest.mark.parametrize(
    ("name", "settings", "remap", "message"),
    [
        (
            "gpt2",
            {"eos_token_id": 2},
            Remap({0: 0}, {}, range(1, SIZE)),
            "config.eos_token_id is 2, .* was removed; keep it",
        ),
        ("gpt2", {"eos_token_id": [0, 2]}, Remap({0: 0, 1: 1}), "is 2, .* is not in the old tokenizer"),
        ("gpt2", {}, Remap({SIZE: 0}), f"has {SIZE} rows, but the old tokenizer has an id {SIZE}"),
        ("roberta", {}, Remap({0: 1, 1: 0}), "counts from the id of padding, 1, which would become 0"),
    ],
)
def test_impossible_remaps_are_refused_before_any_change(name, settings, remap, message):
    model = small(name, **settings)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    config = model.config.to_dict()
    with pytest.raises(ValueError, match=message):
        remap_embeddings(model, remap)
    assert model.config.to_dict() == config
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    with pytest.raises(TypeError, match=r"remap: expected a Remap, the second value that extend, .*got 5"):
        remap_embeddings(model, 5)
    with pytest.raises(ValueError, match="pad_to_multiple_of: expected at least 1"):
        remap_embeddings(model, remap, pad_to_multiple_of=0)


def test_rows_of_no_token_are_dropped_and_said_so(caplog):
    model = small("gpt2", rows=320)
    with caplog.at_level(logging.INFO, logger="hf_bpe.editing.embeddings"):
        remap_embeddings(model, renumber(make_tokenizer().model).remap)
        assert caplog.text == ""
        remap_embeddings(model, Remap({0: 0}, {}, (1,)))
    assert "297 rows of the embeddings belong to no token" in caplog.text
    assert model.config.vocab_size == 1


@pytest.mark.parametrize("tied", [True, False])
def test_model_continues_with_an_edited_tokenizer(tied, tmp_path):
    tokenizer = make_tokenizer()
    tokenizer.add_tokens(["<|assistant|>"], special_tokens=True)
    model = small("gpt2", rows=len(tokenizer), tied=tied)
    for name in ("pad_token_id", "eos_token_id"):
        setattr(model.config, name, getattr(tokenizer, name))
        setattr(model.generation_config, name, getattr(tokenizer, name))
    text = "<|assistant|>low lower<|endoftext|>"
    before = logits(model, tokenizer.encode(text))
    edits = [
        lambda model: prune(model, keep=tokenizer.encode("low lower 42")),
        lambda model: extend(model, ["slow slower slowest"], 4, reserved=tokenizer.added_tokens_decoder),
        lambda model: add_special_tokens(model, ["<|new|>"], reserved=tokenizer.added_tokens_decoder),
    ]
    every = None
    for edit in edits:
        tokenizer, remap = tokenizer.with_model(edit(tokenizer.model))
        every = remap if every is None else every.then(remap)
        remap_embeddings(model, remap)
        assert model.config.vocab_size == len(tokenizer)
        after = logits(model, tokenizer.encode(text))
        torch.testing.assert_close(after[:, [*every.new_ids.values()]], before[:, [*every.new_ids]])
        for name in ("pad_token_id", "eos_token_id"):
            assert getattr(model.config, name) == getattr(model.generation_config, name) == getattr(tokenizer, name)
    model.save_pretrained(tmp_path)
    loaded = transformers.AutoModelForCausalLM.from_pretrained(tmp_path).eval()
    torch.testing.assert_close(logits(loaded, tokenizer.encode(text)), after)
    ids = model.generate(torch.tensor([tokenizer.encode(text)]), max_new_tokens=3, do_sample=False)
    assert ids.max() < len(tokenizer)
