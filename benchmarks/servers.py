r"""The tokenizer paths of vLLM and SGLang, imported from their wheels: ids, and what a turn of a conversation costs.

    pip download --no-deps --dest WHEELS vllm sglang
    pip install --no-deps cbor2 aiohttp aiohappyeyeballs aiosignal frozenlist multidict propcache yarl openai distro \
        jiter openai_harmony pybase64 cachetools prometheus_client orjson msgspec pyzmq fastapi starlette uvloop \
        apache-tvm-ffi opentelemetry-api
    python -m benchmarks servers vllm WHEELS/vllm*.whl FOLDER... --files FILE...
    python -m benchmarks servers sglang WHEELS/sglang*.whl FOLDER... --files FILE...

Three processes load a tokenizer as the server does, after it has called its plugins: without hf_bpe, with
HF_BPE_ACCELERATE=1, and with HF_BPE_PREFIX_CACHE=256MB, too. They take turns with the same prompts, whose ids must be
equal. What runs is the server's own code: vLLM's `get_tokenizer` and `HfRenderer._tokenize_prompt`, with its pool of
copies; SGLang's `get_tokenizer` and `TokenizerManager._tokenize_texts`. vLLM is imported as it is. For SGLang, `STUBS`
stand for what its modules import and its tokenizer path does not call: kernels for GPUs, images and other formats.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import importlib
import json
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import time
import types
import zipfile
from collections.abc import Callable, Iterator
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

STUBS = ("triton", "IPython", "torchvision", "sentencepiece", "loguru", "partial_json_parser", "einops", "vllm")
MODES = {
    "plain": {},
    "accelerated": {"HF_BPE_ACCELERATE": "1"},
    "with cache": {"HF_BPE_ACCELERATE": "1", "HF_BPE_PREFIX_CACHE": "256MB"},
}
Encode = Callable[[str], list[int]]


class _Stub(types.ModuleType):
    __path__: list[str] = []  # noqa: RUF012

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = type(name, (), {}) if name.lstrip("_")[:1].isupper() else MagicMock(name=name)
        setattr(self, name, value)
        return value


class _StubFinder(MetaPathFinder, Loader):
    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.split(".")[0] in STUBS else None

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        return _Stub(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def load_vllm(folder: str) -> tuple[Any, Encode]:
    """Return the tokenizer that vLLM makes for a folder, and what encodes a prompt there."""
    importlib.import_module("vllm.plugins").load_general_plugins()
    tokenizer = importlib.import_module("vllm.tokenizers").get_tokenizer(folder)
    hf = importlib.import_module("vllm.renderers.hf")
    params = importlib.import_module("vllm.renderers.params").TokenizeParams(max_total_tokens=1_000_000)
    renderer = object.__new__(hf.HfRenderer)  # without the engine's configuration; what its constructor does follows
    renderer.tokenizer = importlib.import_module("copy").copy(tokenizer)
    hf.maybe_make_thread_pool(renderer.tokenizer, 2)
    return renderer.tokenizer, lambda text: renderer._tokenize_prompt({"prompt": text}, params)["prompt_token_ids"]


def load_sglang(folder: str) -> tuple[Any, Encode]:
    """Return the tokenizer that SGLang makes for a folder, and what encodes a prompt there."""
    for name in ("torch.utils.flop_counter", "torch._inductor.compile_fx"):
        importlib.import_module(name)  # before the stubs, which these would take for what they look for
    transformers = importlib.import_module("transformers")
    for name in ("AutoTokenizer", "AutoProcessor"):
        getattr(transformers, name)
    sys.meta_path.append(_StubFinder())
    importlib.import_module("sglang.srt.plugins").load_plugins()
    manager_module = importlib.import_module("sglang.srt.managers.tokenizer_manager")
    manager = object.__new__(manager_module.TokenizerManager)  # without processes and sockets
    manager.tokenizer = manager_module.get_tokenizer(folder)
    manager.async_dynamic_batch_tokenizer = None  # as without --enable-dynamic-batch-tokenizer
    manager.model_config = types.SimpleNamespace(is_embedding_gemma=False)
    loop = asyncio.new_event_loop()
    return manager.tokenizer, lambda text: loop.run_until_complete(manager._tokenize_texts(text))[0]


LOADERS = {"vllm": load_vllm, "sglang": load_sglang}


def _serve(connection: Any, server: str, path: str, folder: str) -> None:
    """Answer texts with the digest of their ids, their number and the milliseconds they took."""
    sys.path.insert(0, path)
    tokenizer, encode = LOADERS[server](folder)
    connection.send((type(tokenizer).__name__, getattr(tokenizer, "is_accelerated", False)))
    while (text := connection.recv()) is not None:
        start = time.perf_counter()
        ids = encode(text)
        taken = 1000 * (time.perf_counter() - start)
        connection.send((hashlib.sha256(repr(ids).encode()).hexdigest(), len(ids), taken))
    cache = getattr(tokenizer, "prefix_cache", None)
    connection.send(None if cache is None else cache.statistics()._asdict())


@contextlib.contextmanager
def _process(server: str, path: str, folder: str, environment: dict[str, str]) -> Iterator[Any]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, server, path, folder))
    before = os.environ.copy()
    os.environ.update(environment)
    try:
        process.start()
    finally:
        os.environ.clear()
        os.environ.update(before)
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        process.join(30)
        process.terminate()


def turns(server: str, path: str, folder: str, source: str, begin: int, count: int) -> dict[str, Any]:
    """Let a conversation of `begin` characters grow by turns of 256; compare and measure the modes."""
    draw = random.Random(0)
    result: dict[str, Any] = {"server": server, "tokenizer": Path(folder).name}
    with contextlib.ExitStack() as stack:
        processes = {
            mode: stack.enter_context(_process(server, path, folder, environment))
            for mode, environment in MODES.items()
        }
        result["loaded"] = {mode: process.recv() for mode, process in processes.items()}
        assert [accelerated for _, accelerated in result["loaded"].values()] == [False, True, True], result
        text, taken = source[:begin], {mode: [] for mode in MODES}
        for number in range(count + 3):
            start = draw.randrange(len(source) - 256)
            text += source[start : start + 256]
            answers = {}
            for mode, process in processes.items():
                process.send(text)
                *answers[mode], milliseconds = process.recv()
                if number >= 3:  # after the first, which are slower in all modes
                    taken[mode].append(milliseconds)
            if len({tuple(answer) for answer in answers.values()}) != 1:
                raise SystemExit(f"{server}, {folder}, turn {number}: other ids: {answers}")
        result["tokens"] = answers["plain"][1]
        result["milliseconds"] = {mode: round(statistics.median(each), 3) for mode, each in taken.items()}
        for process in processes.values():
            process.send(None)
        result["cache"] = {mode: process.recv() for mode, process in processes.items()}["with cache"]
        assert result["cache"]["hits"] >= count, result
    return result


def main(arguments: list[str] | None = None) -> None:
    """Print a line of JSON for each tokenizer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server", choices=LOADERS)
    parser.add_argument("wheel", help="of the server, or a folder where it is unpacked")
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help="with the files of a tokenizer")
    parser.add_argument("--files", nargs="+", required=True, help="texts that contents are taken from")
    parser.add_argument("--begin", type=int, default=170_000, help="characters of the conversation before its turns")
    parser.add_argument("--turns", type=int, default=20)
    given = parser.parse_args(arguments)
    source = "".join(Path(file).read_text("utf-8")[:4_000_000].replace("<|endoftext|>", "\n") for file in given.files)
    with tempfile.TemporaryDirectory() as unpacked:
        path = given.wheel
        if Path(path).is_file():
            with zipfile.ZipFile(path) as wheel:
                wheel.extractall(unpacked, [name for name in wheel.namelist() if not name.endswith(".so")])
            path = unpacked
        for folder in given.folders:
            print(json.dumps(turns(given.server, path, folder, source, given.begin, given.turns)), flush=True)
