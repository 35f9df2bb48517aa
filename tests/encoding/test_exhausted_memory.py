"""Calls under a limit of memory: MemoryError, or a result, but never the end of the process."""

import subprocess
import sys

import pytest

from support.processes import PATIENCE

# The resident size is less than what is in use, so that no thread gets a stack or a heap of its own.
SCRIPT = """
import os, resource, sys, threading
import hf_bpe
text = "".join(f"low{i % 1000} lower " for i in range(400_000))
model = hf_bpe.train([text[:10_000]], vocab_size=300)
tokenizer = hf_bpe.BPETokenizer(model=model)

def limited(code):
    in_use = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (in_use + 1_000_000,) * 2)
    try:
        eval(code)
    except MemoryError:
        pass
    codes.append(0)

for name, before, code in [
    ("lists", None, "tokenizer.encode_to_lists([text])"),
    ("arrays", None, "tokenizer.encode_to_numpy([text])"),
    ("a call", None, "tokenizer([text, text])"),
    ("one text", None, "tokenizer.encode(text)"),
    ("offsets", None, "tokenizer(text, return_offsets_mapping=True)"),
    ("counting", None, "hf_bpe.count([text])"),
    ("training", None, "hf_bpe.train([text], vocab_size=1000)"),
    ("saving", None, "tokenizer.save_pretrained(sys.argv[1])"),
    ("stacks of ended threads", "tokenizer.encode_to_numpy([text])", "tokenizer.encode_to_numpy([text])"),
    ("another thread", "thread", "tokenizer.encode_to_lists([text])"),
]:
    if pid := os.fork():
        print(name, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
        continue
    codes = []
    if before == "thread":
        thread = threading.Thread(target=limited, args=(code,))
        thread.start()
        thread.join()
    else:
        eval(before or "None")
        limited(code)
    os._exit(codes[0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory is that of Linux")
def test_exhausted_memory_ends_no_process(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    assert [line for line in done.stdout.splitlines() if not line.endswith(" 0")] == [], done.stderr
    assert len(done.stdout.splitlines()) == 10
