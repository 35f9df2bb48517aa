"""The tokenizer where models are trained and run: collators, Trainer, pipelines, generation, streams, loops of others.

The models are tiny and random. What they are asked through our tokenizer and through a fast tokenizer made from our
tokenizer.json must be the same. The packages of others are not among those of the tests; CONTRIBUTING.md says how to
install them.
"""

import importlib.util
import sys
import threading

import numpy as np
import pytest
import transformers
from transformers import (
    AutoTokenizer,
    BertConfig,
    DataCollatorForLanguageModeling,
    DataCollatorForSeq2Seq,
    DataCollatorForTokenClassification,
    DataCollatorWithPadding,
    GPT2Config,
    PreTrainedTokenizerFast,
    TextIteratorStreamer,
    TextStreamer,
    pipeline,
)

from hf_bpe import BPETokenizer, accelerate
from support.processes import PATIENCE
from support.profiles import thorough
from support.project import ROOT
from support.samples import SHORT_CORPUS

torch = pytest.importorskip("torch", reason="models need torch")

TEXTS = ["lowest 你好", "the newest<|endoftext|>", "widest of the low 👋 and much more than that"]
TEXT = "newest 你好 👋 low\nwidest, 你 好 e\u0301 end"
SPECIALS = ["<|endoftext|>", "<pad>", "<mask>", "<|user|>"]
TEMPLATE = (
    "{% for message in messages %}<|user|>{{ message.content }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}<|user|>{% endif %}"
)


@pytest.fixture(scope="module")
def tokenizer():
    return BPETokenizer.train(
        SHORT_CORPUS,
        num_merges=30,
        special_tokens=SPECIALS,
        pad_token="<pad>",
        mask_token="<mask>",
        model_max_length=64,
        chat_template=TEMPLATE,
    )


@pytest.fixture(scope="module")
def folder(tokenizer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def fast(folder):
    return PreTrainedTokenizerFast.from_pretrained(folder)


def make_model(tokenizer, kind, **settings):
    torch.manual_seed(0)
    ends = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    sizes = {"vocab_size": len(tokenizer), "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    if kind.startswith("GPT2"):
        config = GPT2Config(n_positions=64, **ends, **sizes, **settings)
    else:
        config = BertConfig(max_position_embeddings=64, intermediate_size=16, **ends, **sizes, **settings)
    return getattr(transformers, kind)(config).eval()


@pytest.fixture(scope="module")
def model(tokenizer):
    return make_model(tokenizer, "GPT2LMHeadModel")


# Collators


MASKING = {"mask_replace_prob": 1, "random_replace_prob": 0}
COLLATORS = {
    "padding": lambda each: DataCollatorWithPadding(each, pad_to_multiple_of=8),
    "padding of tensors": DataCollatorWithPadding,
    "language modeling": lambda each: DataCollatorForLanguageModeling(each, mlm=False),
    "all masked": lambda each: DataCollatorForLanguageModeling(each, mlm_probability=1.0, **MASKING),
    "whole words masked": lambda each: DataCollatorForLanguageModeling(
        each, whole_word_mask=True, mlm_probability=0.4, seed=1, **MASKING
    ),
    "labels of tokens": DataCollatorForTokenClassification,
    "labels of texts": DataCollatorForSeq2Seq,
}


def rows_of(tokenizer, name=""):
    options = {"return_offsets_mapping": True, "padding": "max_length"} if name == "whole words masked" else {}
    rows = [dict(tokenizer(text, **options)) for text in TEXTS]
    if name == "padding of tensors":
        return [{key: torch.tensor(value) for key, value in row.items()} for row in rows]
    for number, row in enumerate(rows):
        if name.startswith("labels"):
            row["labels"] = [1] * (len(row["input_ids"]) if name == "labels of tokens" else 1 + number)
    return rows


@pytest.mark.parametrize("name", COLLATORS)
def test_collators_give_what_they_give_with_a_fast_tokenizer(tokenizer, fast, name):
    ours, theirs = (COLLATORS[name](each)(rows_of(each, name)) for each in (tokenizer, fast))
    assert {**ours}.keys() == {**theirs}.keys()
    for column in theirs:
        assert ours[column].tolist() == theirs[column].tolist()
    if "masked" in name:
        assert (ours["input_ids"] == tokenizer.mask_token_id).any()


# Trainer


def test_checkpoint_of_trainer_loads_with_auto_tokenizer(tokenizer, tmp_path):
    pytest.importorskip("accelerate", reason="Trainer needs accelerate")
    from transformers import Trainer, TrainingArguments

    model = make_model(tokenizer, "GPT2LMHeadModel")
    before = model.transformer.wte.weight.detach().clone()
    arguments = TrainingArguments(
        output_dir=str(tmp_path),
        max_steps=2,
        save_steps=2,
        per_device_train_batch_size=2,
        learning_rate=0.01,
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )
    collator = DataCollatorForLanguageModeling(tokenizer, mlm=False)
    trainer = Trainer(model, arguments, collator, rows_of(tokenizer) * 2, processing_class=tokenizer)
    assert trainer.train().global_step == 2
    assert not torch.equal(before, model.transformer.wte.weight)
    loaded = AutoTokenizer.from_pretrained(tmp_path / "checkpoint-2")
    assert type(loaded) is BPETokenizer
    assert [loaded.encode(text) for text in TEXTS] == [tokenizer.encode(text) for text in TEXTS]
    assert (loaded.model, loaded.chat_template) == (tokenizer.model, tokenizer.chat_template)


# Pipelines


CHAT = [{"role": "user", "content": "lowest 你好"}]
LONG = " ".join(TEXTS) * 8
LABELS = {"num_labels": 3, "id2label": dict(enumerate(["O", "B-X", "I-X"]))}
GREEDY = {"max_new_tokens": 6, "do_sample": False}
PIPELINES = {
    **{
        f"text-generation of {name}": ("text-generation", "GPT2LMHeadModel", prompt, {}, GREEDY)
        for name, prompt in {"a text": "lowest 你好", "texts": TEXTS, "a chat": CHAT}.items()
    },
    **{
        f"token-classification, {options}": ("token-classification", "GPT2ForTokenClassification", LONG, options, {})
        for options in (
            *({"aggregation_strategy": name} for name in ("none", "simple", "first", "average")),
            *({"aggregation_strategy": name, "stride": 7} for name in ("max", "first")),
        )
    },
    "fill-mask": ("fill-mask", "BertForMaskedLM", "lowest <mask> 你好", {}, {}),
    "feature-extraction": ("feature-extraction", "GPT2Model", TEXTS[2], {}, {"truncation": True}),
}
"""Name → task, class of the model, input, options of the pipeline and of the call."""


@pytest.mark.filterwarnings("ignore:Tokenizer does not support real words")  # as for every byte-level tokenizer
@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines_give_what_they_give_with_a_fast_tokenizer(tokenizer, fast, name):
    task, kind, given, options, call = PIPELINES[name]
    model = make_model(tokenizer, kind, **(LABELS if task == "token-classification" else {}))
    ours, theirs = (pipeline(task, model=model, tokenizer=each, **options)(given, **call) for each in (tokenizer, fast))
    assert ours == theirs
    assert ours
    if "stride" in options:
        assert max(entity["end"] for entity in ours) > 500  # past the first window


# Generation


class Dictation:
    """A logits processor that makes any model write given ids after the prompt."""

    def __init__(self, ids, start):
        self.ids, self.start = ids, start

    def __call__(self, input_ids, scores):
        scores = torch.full_like(scores, -torch.inf)
        scores[:, self.ids[input_ids.shape[1] - self.start]] = 0.0
        return scores


def dictate(model, writer, text, **options):
    """Generate text after a prompt, in the ids of the tokenizer `writer`; return the ids without the prompt."""
    prompt, ids = writer("low", return_tensors="pt"), writer.encode(text)
    start = prompt["input_ids"].shape[1]
    generated = model.generate(
        **prompt,
        logits_processor=[Dictation(ids, start)],
        max_new_tokens=len(ids),
        do_sample=False,
        **options,
    )
    return generated[0, start:].tolist()


@pytest.mark.parametrize("stop", ["low", "好", " \U0001f44b lo", "est,"])
def test_generation_stops_where_a_stop_string_is_complete(model, tokenizer, fast, stop):
    assert dictate(model, tokenizer, TEXT) == tokenizer.encode(TEXT)
    ids = dictate(model, tokenizer, TEXT, stop_strings=[stop, "never"], tokenizer=tokenizer)
    assert ids == dictate(model, fast, TEXT, stop_strings=[stop, "never"], tokenizer=fast)
    assert stop in tokenizer.decode(ids)
    assert stop not in tokenizer.decode(ids[:-1])


def test_streamer_prints_what_is_generated(model, tokenizer, capsys):
    ids = dictate(model, tokenizer, TEXT, streamer=TextStreamer(tokenizer, skip_prompt=True))
    assert capsys.readouterr().out == tokenizer.decode(ids) + "\n" == TEXT + "\n"


def test_streamer_prints_invalid_bytes_as_decoding_does(model, tokenizer, capsys):
    torch.manual_seed(1)
    prompt = tokenizer("low", return_tensors="pt")
    ids = model.generate(
        **prompt,
        streamer=TextStreamer(tokenizer, skip_special_tokens=True),
        max_new_tokens=60,
        min_new_tokens=60,
        do_sample=True,
        top_k=0,
    )
    expected = tokenizer.decode(ids[0], skip_special_tokens=True)
    assert capsys.readouterr().out == expected + "\n"
    assert "\ufffd" in expected


def test_iterator_streamer_gives_whole_characters(model, tokenizer):
    streamer = TextIteratorStreamer(tokenizer, skip_prompt=True, timeout=PATIENCE)
    thread = threading.Thread(target=dictate, args=(model, tokenizer, TEXT), kwargs={"streamer": streamer})
    thread.start()
    pieces = list(streamer)
    thread.join()
    assert "".join(pieces) == TEXT
    assert "\ufffd" not in "".join(pieces)
    assert len([piece for piece in pieces if piece]) > 4


# Loops of others


PLAIN_TEXTS = ["lowest 你好", "the newest e\u0301", "widest of the low 👋 and more than that", "what is newer"]
quiet = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


@pytest.fixture(params=["BPETokenizer", "BPETokenizerFast"])
def either(request, folder):
    if request.param == "BPETokenizer":
        return BPETokenizer.from_pretrained(folder)
    return accelerate(PreTrainedTokenizerFast.from_pretrained(folder))


@thorough
@quiet
@pytest.mark.parametrize("packing", [False, True])
@pytest.mark.parametrize("kind", ["text", "messages"])
def test_sft_trainer_learns_from_the_same_ids(either, fast, tmp_path, kind, packing):
    trl = pytest.importorskip("trl")
    datasets = pytest.importorskip("datasets")
    rows = {
        "text": [{"text": text} for text in PLAIN_TEXTS * 3],
        "messages": [
            {"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": text}]}
            for text in PLAIN_TEXTS * 3
        ],
    }[kind]

    def trained(tokenizer, name):
        options = {"max_length": 32, "packing": packing, "max_steps": 2, "per_device_train_batch_size": 2}
        args = trl.SFTConfig(output_dir=str(tmp_path / name), use_cpu=True, bf16=False, report_to=[], **options)
        model, data = make_model(tokenizer, "GPT2LMHeadModel"), datasets.Dataset.from_list(rows)
        trainer = trl.SFTTrainer(model, args, None, data, None, tokenizer)
        loss = trainer.train().training_loss
        return [[*row["input_ids"]] for row in trainer.train_dataset], loss

    assert trained(either, "ours") == trained(fast, "theirs")


@thorough
@quiet
def test_sentence_transformers_embed_texts_alike(either, fast, tmp_path):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    model = make_model(either, "BertModel")
    embeddings = []
    for name, each in (("ours", either), ("theirs", fast)):
        model.save_pretrained(tmp_path / name)
        each.save_pretrained(tmp_path / name)
        loaded = sentence_transformers.SentenceTransformer(str(tmp_path / name), device="cpu")
        if isinstance(each, BPETokenizer):
            assert isinstance(loaded.tokenizer, BPETokenizer)  # it comes with the model
        loaded[0].processor = each
        assert loaded.tokenizer is each
        embeddings.append(loaded.encode([*PLAIN_TEXTS, ""]))
        loaded.save_pretrained(str(tmp_path / f"{name} again"))
    assert np.array_equal(*embeddings)
    again = sentence_transformers.SentenceTransformer(str(tmp_path / "ours again"), device="cpu")
    assert np.array_equal(again.encode([*PLAIN_TEXTS, ""]), embeddings[0])


@thorough
@quiet
def test_harness_scores_texts_alike(either, fast):
    huggingface = pytest.importorskip("lm_eval.models.huggingface")
    from lm_eval.api.instance import Instance

    model = make_model(either, "GPT2LMHeadModel")

    def requests(kind, arguments):
        return [Instance(kind, {}, each, number) for number, each in enumerate(arguments)]

    results = []
    for each in (either, fast):
        harness = huggingface.HFLM(pretrained=model, tokenizer=each, batch_size=2, device="cpu", max_length=64)
        pairs = [(text, more) for text in ("", *PLAIN_TEXTS) for more in (" low", " 你好 newest")]
        stop = {"until": ["low", "\n"], "max_gen_toks": 8}
        results.append(
            [
                harness.loglikelihood(requests("loglikelihood", pairs), disable_tqdm=True),
                harness.loglikelihood_rolling(requests("loglikelihood_rolling", [(t,) for t in PLAIN_TEXTS]), True),
                harness.generate_until(requests("generate_until", [(t, dict(stop)) for t in PLAIN_TEXTS]), True),
                harness.apply_chat_template([{"role": "user", "content": PLAIN_TEXTS[0]}]),
            ]
        )
    assert results[0] == results[1]


@thorough
@quiet
@pytest.mark.parametrize("workers", [0, 2] if sys.platform.startswith("linux") else [0])
def test_packed_stream_holds_the_ids_of_all_documents(folder, tmp_path, workers, monkeypatch):
    spec = importlib.util.spec_from_file_location("stream_packed", ROOT / "examples" / "stream_packed.py")
    example = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "stream_packed", example)
    spec.loader.exec_module(example)
    tokenizer = BPETokenizer.from_pretrained(folder)
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for number, file in enumerate(files):
        file.write_text("\n".join(f"{text} {number}" for text in PLAIN_TEXTS * 100) + "\n\n", encoding="utf-8")
    shares = [files] if workers == 0 else [[file] for file in files]
    expected = []
    for share in shares:
        lines = [line for file in share for line in file.read_text(encoding="utf-8").split("\n") if line]
        rows = tokenizer.encode_to_lists(lines, split_special_tokens=True)
        ids = [token_id for row in rows for token_id in (*row, tokenizer.eos_token_id)]
        expected += [ids[start : start + 16] for start in range(0, len(ids) - 15, 16)]
    loader = torch.utils.data.DataLoader(
        example.PackedSequences(tokenizer, files, 16), batch_size=None, num_workers=workers
    )
    assert sorted(row["input_ids"].tolist() for row in loader) == sorted(expected)
