"""The tokenizer in the training and evaluation loops of others gives what a fast tokenizer of the same file gives.

Each needs a package that is not among those of the tests; CONTRIBUTING.md says how to install them.
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from hf_bpe import BPETokenizer, accelerate
from support.profiles import thorough
from support.samples import SHORT_CORPUS

torch = pytest.importorskip("torch", reason="models need torch")

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")

TEXTS = ["lowest 你好", "the newest e\u0301", "widest of the low 👋 and more than that", "what is newer"]
TEMPLATE = (
    "{% for message in messages %}<|user|>{{ message.content }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}<|user|>{% endif %}"
)
PACKED = Path(__file__).parents[2] / "examples" / "stream_packed.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizer")
    special_tokens = ["<|endoftext|>", "<pad>", "<|user|>"]
    tokenizer = BPETokenizer.train(
        SHORT_CORPUS, num_merges=30, special_tokens=special_tokens, pad_token="<pad>", chat_template=TEMPLATE
    )
    tokenizer.model_max_length = 64
    tokenizer.save_pretrained(folder, portable=True)
    return folder


@pytest.fixture(scope="module")
def fast(folder):
    return PreTrainedTokenizerFast.from_pretrained(folder)


@pytest.fixture(params=["BPETokenizer", "BPETokenizerFast"])
def tokenizer(request, folder):
    if request.param == "BPETokenizer":
        return BPETokenizer.from_pretrained(folder)
    return accelerate(PreTrainedTokenizerFast.from_pretrained(folder))


def gpt2(tokenizer):
    torch.manual_seed(0)
    sizes = {"vocab_size": len(tokenizer), "n_positions": 64, "n_embd": 16, "n_layer": 1, "n_head": 2}
    special = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    return GPT2LMHeadModel(GPT2Config(bos_token_id=tokenizer.eos_token_id, **sizes, **special))


@thorough
@pytest.mark.parametrize("packing", [False, True])
@pytest.mark.parametrize("kind", ["text", "messages"])
def test_sft_trainer_learns_from_the_same_ids(tokenizer, fast, tmp_path, kind, packing):
    trl = pytest.importorskip("trl")
    datasets = pytest.importorskip("datasets")
    rows = {
        "text": [{"text": text} for text in TEXTS * 3],
        "messages": [
            {"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": text}]}
            for text in TEXTS * 3
        ],
    }[kind]

    def trained(tokenizer, name):
        options = {"max_length": 32, "packing": packing, "max_steps": 2, "per_device_train_batch_size": 2}
        args = trl.SFTConfig(output_dir=str(tmp_path / name), use_cpu=True, bf16=False, report_to=[], **options)
        trainer = trl.SFTTrainer(gpt2(tokenizer), args, None, datasets.Dataset.from_list(rows), None, tokenizer)
        loss = trainer.train().training_loss
        return [[*row["input_ids"]] for row in trainer.train_dataset], loss

    assert trained(tokenizer, "ours") == trained(fast, "theirs")


@thorough
def test_sentence_transformers_embed_texts_alike(tokenizer, fast, tmp_path):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    model = BertModel(BertConfig(vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id, **sizes))
    embeddings = []
    for name, each in (("ours", tokenizer), ("theirs", fast)):
        model.save_pretrained(tmp_path / name)
        each.save_pretrained(tmp_path / name)
        loaded = sentence_transformers.SentenceTransformer(str(tmp_path / name), device="cpu")
        if isinstance(each, BPETokenizer):
            assert isinstance(loaded.tokenizer, BPETokenizer)  # it comes with the model
        loaded[0].processor = each
        assert loaded.tokenizer is each
        embeddings.append(loaded.encode([*TEXTS, ""]))
        loaded.save_pretrained(str(tmp_path / f"{name} again"))
    assert np.array_equal(*embeddings)
    again = sentence_transformers.SentenceTransformer(str(tmp_path / "ours again"), device="cpu")
    assert np.array_equal(again.encode([*TEXTS, ""]), embeddings[0])


@thorough
def test_harness_scores_texts_alike(tokenizer, fast):
    huggingface = pytest.importorskip("lm_eval.models.huggingface")
    from lm_eval.api.instance import Instance

    model = gpt2(tokenizer).eval()

    def requests(kind, arguments):
        return [Instance(kind, {}, each, number) for number, each in enumerate(arguments)]

    results = []
    for each in (tokenizer, fast):
        harness = huggingface.HFLM(pretrained=model, tokenizer=each, batch_size=2, device="cpu", max_length=64)
        pairs = [(text, more) for text in ("", *TEXTS) for more in (" low", " 你好 newest")]
        stop = {"until": ["low", "\n"], "max_gen_toks": 8}
        results.append(
            [
                harness.loglikelihood(requests("loglikelihood", pairs), disable_tqdm=True),
                harness.loglikelihood_rolling(requests("loglikelihood_rolling", [(t,) for t in TEXTS]), True),
                harness.generate_until(requests("generate_until", [(t, dict(stop)) for t in TEXTS]), True),
                harness.apply_chat_template([{"role": "user", "content": TEXTS[0]}]),
            ]
        )
    assert results[0] == results[1]


@thorough
@pytest.mark.parametrize("workers", [0, 2] if sys.platform.startswith("linux") else [0])
def test_packed_stream_holds_the_ids_of_all_documents(folder, tmp_path, workers, monkeypatch):
    spec = importlib.util.spec_from_file_location("stream_packed", PACKED)
    example = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "stream_packed", example)
    spec.loader.exec_module(example)
    tokenizer = BPETokenizer.from_pretrained(folder)
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for number, file in enumerate(files):
        file.write_text("\n".join(f"{text} {number}" for text in TEXTS * 100) + "\n\n", encoding="utf-8")
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
