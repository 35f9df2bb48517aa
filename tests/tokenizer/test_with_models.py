"""The tokenizer where models are trained and run: collators, Trainer, pipelines, generation, streams.

The models are tiny and random. What they are asked through our tokenizer and through a fast tokenizer made from our
tokenizer.json must be the same.
"""

import threading

import pytest
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

from hf_bpe import BPETokenizer
from support.patience import PATIENCE

torch = pytest.importorskip("torch", reason="models need torch")

CORPUS = ["low low low lower lower lowest widest widest newest newest newest 你好 你好 what is newer is lower\n"]
TEXTS = ["lowest 你好", "the newest<|endoftext|>", "widest of the low 👋 and much more than that"]
TEXT = "newest 你好 👋 low\nwidest, 你 好 e\u0301 end"
SPECIALS = ["<|endoftext|>", "<pad>", "<mask>", "<|user|>"]


@pytest.fixture(scope="module")
def tokenizer():
    return BPETokenizer.train(
        CORPUS,
        num_merges=30,
        special_tokens=SPECIALS,
        pad_token="<pad>",
        mask_token="<mask>",
        model_max_length=64,
        chat_template="{% for message in messages %}<|user|>{{ message.content }}{% endfor %}",
    )


@pytest.fixture(scope="module")
def fast(tokenizer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    tokenizer.save_pretrained(folder)
    return PreTrainedTokenizerFast.from_pretrained(folder)


def make_model(tokenizer, task="ForCausalLM", family="GPT2", **settings):
    torch.manual_seed(0)
    ends = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    sizes = {"vocab_size": len(tokenizer), "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    if family == "GPT2":
        config = GPT2Config(n_positions=64, **ends, **sizes, **settings)
    else:
        config = BertConfig(max_position_embeddings=64, intermediate_size=16, **ends, **sizes, **settings)
    models = pytest.importorskip("transformers")
    return getattr(models, f"{family}{task}")(config).eval()


@pytest.fixture(scope="module")
def model(tokenizer):
    return make_model(tokenizer, "LMHeadModel")


# Collators


def rows_of(tokenizer, **options):
    return [tokenizer(text, **options) for text in TEXTS]


def test_collator_with_padding_fills_up_to_the_longest_row(tokenizer):
    rows = rows_of(tokenizer)
    batch = DataCollatorWithPadding(tokenizer, pad_to_multiple_of=8)(rows)
    assert batch["input_ids"].shape[1] % 8 == 0
    for ids, mask, row in zip(batch["input_ids"].tolist(), batch["attention_mask"].tolist(), rows, strict=True):
        length = len(row["input_ids"])
        assert ids == row["input_ids"] + [tokenizer.pad_token_id] * (len(ids) - length)
        assert mask == [1] * length + [0] * (len(ids) - length)


def test_language_modeling_collator_has_labels_but_for_padding(tokenizer):
    batch = DataCollatorForLanguageModeling(tokenizer, mlm=False)(rows_of(tokenizer))
    kept = batch["input_ids"] != tokenizer.pad_token_id
    assert (batch["labels"] == torch.where(kept, batch["input_ids"], -100)).all()
    assert kept.sum() == sum(len(row["input_ids"]) for row in rows_of(tokenizer))


MASKING = {"mask_replace_prob": 1, "random_replace_prob": 0}


def test_masking_collator_masks_no_special_token(tokenizer):
    batch = DataCollatorForLanguageModeling(tokenizer, mlm_probability=1.0, **MASKING)(rows_of(tokenizer))
    plain = DataCollatorWithPadding(tokenizer)(rows_of(tokenizer))["input_ids"]
    special = torch.isin(plain, torch.tensor(tokenizer.all_special_ids))
    assert (batch["input_ids"] == torch.where(special, plain, tokenizer.mask_token_id)).all()
    assert (batch["labels"] == torch.where(special, -100, plain)).all()


def test_whole_words_are_masked_as_with_a_fast_tokenizer(tokenizer, fast):
    batches = []
    for each in (tokenizer, fast):
        rows = rows_of(each, return_offsets_mapping=True, padding="max_length")  # for collators do not pad offsets
        collate = DataCollatorForLanguageModeling(each, whole_word_mask=True, mlm_probability=0.4, seed=1, **MASKING)
        batches.append(collate([dict(row) for row in rows]))
    for name in ("input_ids", "labels"):
        assert batches[0][name].tolist() == batches[1][name].tolist()
    assert (batches[0]["input_ids"] == tokenizer.mask_token_id).any()


def test_collators_of_labels_and_pairs_fill_the_labels_up(tokenizer):
    rows = [dict(row) for row in rows_of(tokenizer)]
    for row in rows:
        row["labels"] = [1] * len(row["input_ids"])
    labels = DataCollatorForTokenClassification(tokenizer)([dict(row) for row in rows])["labels"]
    ids = DataCollatorWithPadding(tokenizer)(rows_of(tokenizer))["input_ids"]
    assert ((labels == 1) == (ids != tokenizer.pad_token_id)).all()
    for row, answer in zip(rows, [[2], [2, 3], [2]], strict=True):
        row["labels"] = answer
    pairs = DataCollatorForSeq2Seq(tokenizer)(rows)
    assert pairs["labels"].tolist() == [[2, -100], [2, 3], [2, -100]]
    assert pairs["input_ids"].tolist() == ids.tolist()


def test_words_and_their_labels_find_each_other_by_word_ids(tokenizer, fast):
    words, tags = ["lowest", "of", "你好", "newest", "👋"], [1, 2, 3, 4, 5]
    aligned = []
    for each in (tokenizer, fast):
        batch = each([words, words[:2]], is_split_into_words=True, truncation=True, max_length=30)
        aligned.append([[tags[word] for word in batch.word_ids(row)] for row in range(2)])
    assert aligned[0] == aligned[1]
    assert list(dict.fromkeys(aligned[0][0])) == tags


# Trainer


def test_checkpoint_of_trainer_loads_with_auto_tokenizer(tokenizer, tmp_path):
    pytest.importorskip("accelerate", reason="Trainer needs accelerate")
    from transformers import Trainer, TrainingArguments

    model = make_model(tokenizer, "LMHeadModel")
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


@pytest.mark.parametrize("prompt", ["lowest 你好", TEXTS, CHAT], ids=["a text", "texts", "a chat"])
def test_text_generation_is_as_with_a_fast_tokenizer(tokenizer, fast, model, prompt):
    if prompt is CHAT:
        pytest.importorskip("jinja2", reason="chat templates need jinja2")
    ours, theirs = (
        pipeline("text-generation", model=model, tokenizer=each)(prompt, max_new_tokens=6, do_sample=False)
        for each in (tokenizer, fast)
    )
    assert ours == theirs
    if prompt is CHAT:
        assert ours[0]["generated_text"][0] == CHAT[0]
    assert len(ours) == (3 if prompt is TEXTS else 1)


LONG = " ".join(TEXTS) * 8


@pytest.mark.filterwarnings("ignore:Tokenizer does not support real words")  # as for every byte-level tokenizer
@pytest.mark.parametrize(
    "options",
    [
        {"aggregation_strategy": "none"},
        {"aggregation_strategy": "simple"},
        {"aggregation_strategy": "first"},
        {"aggregation_strategy": "average"},
        {"aggregation_strategy": "max", "stride": 7},
        {"aggregation_strategy": "first", "stride": 7},
    ],
    ids=str,
)
def test_token_classification_is_as_with_a_fast_tokenizer(tokenizer, fast, options):
    labels = dict(enumerate(["O", "B-X", "I-X"]))
    model = make_model(tokenizer, "ForTokenClassification", num_labels=3, id2label=labels)
    ours, theirs = (
        pipeline("token-classification", model=model, tokenizer=each, **options)(LONG) for each in (tokenizer, fast)
    )
    assert ours == theirs
    assert ours
    if "stride" in options:
        assert max(entity["end"] for entity in ours) > 500  # past the first window


def test_question_answering_windows_cover_the_context(tokenizer, fast):
    """What the question answering examples of transformers do: windows over the second text, with offsets."""
    options = {
        "truncation": "only_second",
        "max_length": 40,
        "stride": 9,
        "return_overflowing_tokens": True,
        "return_offsets_mapping": True,
        "padding": "max_length",
    }
    ours, theirs = (each(["what is low", "who"], [LONG, "low"], **options) for each in (tokenizer, fast))
    assert {name: ours[name] for name in ours} == {name: theirs[name] for name in theirs}
    for row in range(len(ours["input_ids"])):
        assert ours.sequence_ids(row) == theirs.sequence_ids(row)


def test_fill_mask_is_as_with_a_fast_tokenizer(tokenizer, fast):
    model = make_model(tokenizer, "ForMaskedLM", "Bert")
    ours, theirs = (
        pipeline("fill-mask", model=model, tokenizer=each)("lowest <mask> 你好") for each in (tokenizer, fast)
    )
    assert ours == theirs
    assert len(ours) == 5


def test_feature_extraction_is_as_with_a_fast_tokenizer(tokenizer, fast):
    model = make_model(tokenizer, "Model")
    ours, theirs = (
        pipeline("feature-extraction", model=model, tokenizer=each)(TEXTS[2], truncation=True)
        for each in (tokenizer, fast)
    )
    assert ours == theirs
    assert len(ours[0]) == len(tokenizer.encode(TEXTS[2]))


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


def test_backend_tokenizer_gives_our_ids_and_is_independent(tokenizer):
    backend = tokenizer.backend_tokenizer
    assert [backend.encode(text).ids for text in TEXTS] == [tokenizer.encode(text) for text in TEXTS]
    backend.add_tokens(["lowest"])
    assert backend.get_vocab_size() == len(tokenizer) + 1
    assert tokenizer.backend_tokenizer.get_vocab_size() == len(tokenizer)


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


def test_decode_stream_gives_a_character_once_it_is_whole(model, tokenizer):
    ids = dictate(model, tokenizer, TEXT)
    stream, text = tokenizer.decode_stream(), ""
    for number, token_id in enumerate(ids, start=1):
        text += stream.step(token_id)
        assert text == tokenizer.decode_bytes(ids[:number]).decode("utf-8", "ignore")
    assert text + stream.finish() == TEXT


def test_decode_stream_leaves_special_tokens_out_when_asked(tokenizer):
    ids = tokenizer.encode(TEXTS[1] + "low")
    for skips in (False, True):
        stream = tokenizer.decode_stream(skip_special_tokens=skips)
        text = "".join(map(stream.step, ids)) + stream.finish()
        assert text == tokenizer.decode(ids, skip_special_tokens=skips)
