"""Tokenization of vLLM and SGLang by their own code: `python -m benchmarks servers FOLDER... --files FILE...`.

`BENCHMARKS_PYTHON_VLLM` and `BENCHMARKS_PYTHON_SGLANG` name Pythons with hf_bpe, torch, xgrammar, the server's version
of transformers and, by `pip install --no-deps`, the server and what its imports ask for. No GPU is needed.

Three processes load a tokenizer after the server's plugins: without hf_bpe, with HF_BPE_ACCELERATE=1, and with
HF_BPE_PREFIX_CACHE=256MB, too. Each makes the server's xgrammar backend of it. Then they take turns with the same
requests: chats that grow, three at a time, and prompts whose passages are always others. Ids, texts and masks must be
equal. What runs of vLLM: `HfRenderer.render_chat_async`, `IncrementalDetokenizer`, `XgrammarBackend`; of SGLang:
`OpenAIServingChat._render_and_encode_chat_template`, `DetokenizerManager._decode_batch_token_id_output`,
`XGrammarGrammarBackend`. `STUBS` stand for kernels, images and other formats that SGLang's modules import.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import importlib
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

STUBS = ("triton", "IPython", "torchvision", "sentencepiece", "loguru", "vllm")
MODES = {
    "plain": {},
    "accelerated": {"HF_BPE_ACCELERATE": "1"},
    "with cache": {"HF_BPE_ACCELERATE": "1", "HF_BPE_PREFIX_CACHE": "256MB"},
}
CHATS, PASSAGES = 3, 44  # at a time; of a prompt
ROWS, STEPS = 32, 64  # of answers that are streamed at a time: their number, and ids of each
SCHEMA = '{"type": "object", "properties": {"name": {"enum": ["low", "lower"]}, "sizes": {"type": "array"}}}'
ANSWER = '{"name": "lower", "sizes": [1, "low"]}'
Messages = list[dict[str, str]]


class _StubFinder(MetaPathFinder, Loader):
    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.split(".")[0] in STUBS else None

    def create_module(self, spec: ModuleSpec) -> Any:
        return MagicMock(name=spec.name)

    def exec_module(self, module: object) -> None:
        pass


class _Timer:
    """The milliseconds that functions have taken."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock, self.spent = clock, 0.0

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            start = self.clock()
            result = function(*args, **kwargs)
            self.spent += 1000 * (self.clock() - start)
            return result

        return timed


class _VLLM:
    def __init__(self, folder: str, timer: _Timer) -> None:
        importlib.import_module("vllm.plugins").load_general_plugins()
        self.tokenizer = importlib.import_module("vllm.tokenizers").get_tokenizer(folder)
        hf = importlib.import_module("vllm.renderers.hf")
        hf.HfRenderer._tokenize_prompt = timer(hf.HfRenderer._tokenize_prompt)
        model = MagicMock(renderer_num_workers=1, max_model_len=10**6, encoder_config=None, trust_remote_code=False)
        model.supports_multimodal_inputs = model.enable_prompt_embeds = False
        self.renderer = hf.HfRenderer(MagicMock(model_config=model), self.tokenizer)
        options = {"add_generation_prompt": True, "tokenize": False}
        self.params = importlib.import_module("vllm.renderers.params").ChatParams(chat_template_kwargs=options)
        self.loop = asyncio.new_event_loop()

    def encode(self, messages: Messages) -> list[int]:
        _, (prompt,) = self.loop.run_until_complete(self.renderer.render_chat_async([messages], self.params))
        return list(prompt["prompt_token_ids"])

    def decode(self, prompt: list[int], rows: list[list[int]]) -> Iterator[list[str]]:
        kind = importlib.import_module("vllm.v1.engine.detokenizer").IncrementalDetokenizer
        sampling = importlib.import_module("vllm.sampling_params").SamplingParams()
        request = SimpleNamespace(request_id="", sampling_params=sampling, prompt_token_ids=prompt)
        streams = [kind.from_new_request(self.tokenizer, request) for _ in rows]
        for step in zip(*rows, strict=True):
            for stream, token in zip(streams, step, strict=True):
                stream.update([token], False)
            yield [stream.get_next_output_text(False, True) for stream in streams]

    def compile(self) -> Any:
        module = importlib.import_module("vllm.v1.structured_output.backend_xgrammar")
        config = MagicMock(model_config=None, speculative_config=None)
        config.structured_outputs_config.disable_any_whitespace = False
        self.backend = module.XgrammarBackend(config, self.tokenizer, len(self.tokenizer))
        return self.backend.compile_grammar(module.StructuredOutputOptions.JSON, SCHEMA).matcher


class _SGLang:
    def __init__(self, folder: str, timer: _Timer) -> None:
        for name in ("torch.utils.flop_counter", "torch._inductor.compile_fx"):
            importlib.import_module(name)  # before the stubs, which these would take for what they look for
        transformers = importlib.import_module("transformers")
        for name in ("AutoTokenizer", "AutoProcessor"):
            getattr(transformers, name)
        sys.meta_path.append(_StubFinder())
        importlib.import_module("sglang.srt.plugins").load_plugins()
        self.tokenizer = importlib.import_module("sglang.srt.managers.tokenizer_manager").get_tokenizer(folder)
        module = importlib.import_module("sglang.srt.entrypoints.openai.serving_chat")
        module.parallel_prompt_encode = timer(module.parallel_prompt_encode)
        self.chat = object.__new__(module.OpenAIServingChat)  # without the configuration of a model
        self.chat.tokenizer_manager = SimpleNamespace(tokenizer=self.tokenizer)
        self.chat.template_manager = SimpleNamespace(python_chat_template=None)
        self.chat._tokenizer_auto_adds_specials = len(self.tokenizer.encode("")) > 0
        self.chat._prompt_text_round_trip_is_lossy = self.chat._probe_prompt_text_round_trip()

    def encode(self, messages: Messages) -> list[int]:
        options: dict[str, Any] = {"tools": None, "template_kwargs": {}, "encode_kwargs": {}, "use_cache": False}
        if self.chat._tokenizer_auto_adds_specials:
            options["encode_kwargs"]["add_special_tokens"] = False
        return list(self.chat._render_and_encode_chat_template(messages, **options)[0])

    def decode(self, prompt: list[int], rows: list[list[int]]) -> Iterator[list[str]]:
        module = importlib.import_module("sglang.srt.managers.detokenizer_manager")
        manager = object.__new__(module.DetokenizerManager)  # without processes and sockets
        manager.tokenizer, manager.vocab_size, manager.decode_status = self.tokenizer, len(self.tokenizer), {}
        manager.disable_tokenizer_batch_decode = False
        batch = SimpleNamespace(rids=range(ROWS), decoded_texts=[""] * ROWS, read_offsets=[5] * ROWS)
        batch.skip_special_tokens = batch.spaces_between_special_tokens = [True] * ROWS
        batch.finished_reasons, batch.no_stop_trim = [None] * ROWS, [False] * ROWS
        for number, step in enumerate(zip(*rows, strict=True)):
            batch.decode_ids = [[token] if number else [*prompt[-5:], token] for token in step]
            yield manager._decode_batch_token_id_output(batch)

    def compile(self) -> Any:
        module = importlib.import_module("sglang.srt.constrained.xgrammar_backend")
        self.backend = module.XGrammarGrammarBackend(self.tokenizer, len(self.tokenizer))
        return self.backend.dispatch_json(SCHEMA).matcher


SERVERS: dict[str, Callable[..., Any]] = {"vllm": _VLLM, "sglang": _SGLang}


def _masks(tokenizer: Any, matcher: Any) -> Iterator[list[int]]:
    mask = importlib.import_module("xgrammar").allocate_token_bitmask(1, len(tokenizer))
    for token in tokenizer.encode(ANSWER, add_special_tokens=False):
        matcher.fill_next_token_bitmask(mask)
        assert matcher.accept_token(token)
        yield mask.tolist()


def serve(name: str, folder: str, clock: str) -> None:
    """Answer each line of JSON: messages by what their ids took, a number of steps by what streaming took."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # for what servers log
    whole, tokenization = _Timer(getattr(time, clock)), _Timer(getattr(time, clock))
    server = SERVERS[name](folder, tokenization)
    ids: list[int] = []
    for line in sys.stdin:
        request, values = json.loads(line), {}
        whole.spent = tokenization.spent = 0
        if isinstance(request, list):
            result = ids = whole(server.encode)(request)
        elif request:
            enough = ids * (ROWS * request // len(ids) + 1)
            rows = [enough[row * request : (row + 1) * request] for row in range(ROWS)]
            result = whole(list)(server.decode(ids, rows))
        else:
            result = [*_masks(server.tokenizer, whole(server.compile)())]
            is_accelerated = getattr(server.tokenizer, "is_accelerated", False)
            values = {"server": f"{name} {version(name)}", "is_accelerated": is_accelerated}
        values |= {"taken": whole.spent, "tokenization": tokenization.spent}
        values |= {"tokens": len(ids), "digest": hashlib.sha256(repr(result).encode()).hexdigest()}
        print(json.dumps(values), file=answers, flush=True)


def requests(text: Callable[[int], str], turns: int, count: int) -> dict[str, Iterator[Messages]]:
    """Return chats that grow in turns, with the same instructions, and prompts with other passages each."""
    system = {"role": "system", "content": text(6000)}

    def chats() -> Iterator[Messages]:
        growing = [[system]] * CHATS
        for _ in range(turns):
            for number, messages in enumerate(growing):
                asked = [*messages, {"role": "user", "content": text(300)}]
                yield asked
                growing[number] = [*asked, {"role": "assistant", "content": text(1200)}]

    def prompts() -> Iterator[Messages]:
        for _ in range(count):
            parts = [*(text(3000) for _ in range(PASSAGES)), text(200)]
            yield [system, {"role": "user", "content": "\n\n".join(parts)}]

    return {"chat": chats(), "passages": prompts()}


def measured(server: str, folder: str, source: str, given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield a row for each kind of prompts, after all answers were compared."""
    draw, turn = random.Random(0), itertools.count()

    def text(size: int) -> str:
        start = draw.randrange(len(source) - size)
        return source[start : start + size]

    def ask(request: Any) -> dict[str, dict[str, Any]]:
        first, answers = next(turn) % len(MODES), {}
        for mode in ([*MODES] * 2)[first : first + len(MODES)]:
            print(json.dumps(request), file=processes[mode].stdin, flush=True)
            answers[mode] = json.loads(processes[mode].stdout.readline())
        if len({answer["digest"] for answer in answers.values()}) != 1:
            raise SystemExit(f"{server}, {folder}: different results for {str(request)[:200]}")
        return answers

    command = [os.environ.get(f"BENCHMARKS_PYTHON_{server.upper()}", sys.executable), "-I", __file__]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with contextlib.ExitStack() as stack:
        processes: dict[str, Any] = {
            mode: stack.enter_context(
                subprocess.Popen([*command, server, folder, given.clock], env={**os.environ, **variables}, **pipes)
            )
            for mode, variables in MODES.items()
        }
        grammar = [ask(0) for _ in range(2)][1]  # the first imports
        assert [grammar[mode]["is_accelerated"] for mode in MODES] == [False, True, True], grammar
        ask([{"role": "user", "content": "warmup"}])  # as servers do
        for kind, prompts in requests(text, given.turns, given.prompts).items():
            answers = [ask(messages) for messages in prompts]
            decoded = [ask(STEPS) for _ in range(5)]
            tokens = statistics.median(answer["plain"]["tokens"] for answer in answers)
            row = {
                "server": grammar["plain"]["server"],
                "tokenizer": Path(folder).name,
                "prompts": kind,
                "tokens": tokens,
            }
            for mode in MODES:
                times = sorted(answer[mode]["tokenization"] for answer in answers)
                row[mode] = {
                    "requests_per_second": 1000 * len(answers) / sum(answer[mode]["taken"] for answer in answers),
                    "p50": round(statistics.median(times), 2),
                    "p99": round(times[round(0.99 * len(times)) - 1], 2),
                    "step_of_32_streams": statistics.median(answer[mode]["taken"] for answer in decoded) / STEPS,
                    "grammar": grammar[mode]["taken"],
                }
            yield row


def main(arguments: list[str] | None = None) -> None:
    """Print a table of requests a second and milliseconds of tokenization, and write the results."""
    from benchmarks import report  # not in the processes of servers

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help="of a tokenizer with a chat template")
    parser.add_argument("--files", nargs="+", required=True, type=Path, help="texts that contents are taken from")
    parser.add_argument("--servers", nargs="+", choices=SERVERS, default=[*SERVERS], help="which")
    parser.add_argument("--turns", type=int, default=40, help="of each of three chats (default 40)")
    parser.add_argument("--prompts", type=int, default=100, help="of passages (default 100)")
    parser.add_argument("--clock", choices=["perf_counter", "process_time"], default="perf_counter", help="of time")
    parser.add_argument("--output", type=Path, help="where to write the results as JSON")
    given = parser.parse_args(arguments)
    rows, where = [], report.machine()
    source = "".join(file.read_text("utf-8")[:4_000_000].replace("<|endoftext|>", "\n") for file in given.files)
    print("", "server", "tokenizer", "prompts", "tokens", *MODES, "", sep=" | ")
    print("|---" * (4 + len(MODES)) + "|")
    for server, folder in itertools.product(given.servers, given.folders):
        for row in measured(server, folder, source, given):
            rows.append(row)
            shown = (
                f"{row[mode]['requests_per_second']:.0f}: {row[mode]['p50']}, {row[mode]['p99']}" for mode in MODES
            )
            print("", *[*row.values()][:4], *shown, "", sep=" | ", flush=True)
    if given.output is not None:
        options = {name: getattr(given, name) for name in ("turns", "prompts", "clock")}
        result = {"benchmark": "servers", "machine": where, "options": options}
        result |= {"files": report.describe_files(given.files), "rows": rows}
        given.output.write_text(report.to_json(result), "utf-8")


if __name__ == "__main__":
    serve(*sys.argv[1:])
