"""The FastAPI example: ids are those of the tokenizer, and no request waits for the prompt of another one."""

import runpy
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.models.small_tokenizers import tokenizer_of

pytest.importorskip("fastapi", reason="the example needs fastapi")
from fastapi.testclient import TestClient

from support.project import ROOT

EXAMPLE = ROOT / "examples" / "serve_fastapi.py"
TEMPLATE = (
    "{% for each in messages %}{% if each.role == 'tool' %}{{ raise_exception('no tools here') }}{% endif %}"
    "<|{{ each.role }}|>{{ each.content }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


@pytest.fixture
def tokenizer():
    made = tokenizer_of("gpt2")
    made.chat_template = TEMPLATE
    made.prefix_cache = "10MB"
    return made


@pytest.fixture
def client(tokenizer):
    with TestClient(runpy.run_path(str(EXAMPLE))["make_app"](tokenizer)) as client:
        yield client


def post(client, messages):
    return client.post("/tokenize", json={"messages": messages})


def test_conversations_have_the_ids_of_the_tokenizer(client, tokenizer):
    messages = []
    for turn in range(4):
        messages.append({"role": "user", "content": f"the lowest of the low {turn} " * 200})
        expected = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
        assert post(client, messages).json() == {"ids": expected}
    found = client.get("/statistics").json()
    assert found["texts"] == 8
    assert found["reused_bytes"] > 0.7 * found["text_bytes"]


def test_wrong_requests_are_answered_with_the_reason(client):
    answer = post(client, [{"role": "tool", "content": "low"}])
    assert (answer.status_code, answer.json()) == (422, {"detail": "no tools here"})
    assert post(client, [{"role": "user"}]).status_code == 422
    assert post(client, []).status_code == 422


def test_other_requests_are_answered_while_a_prompt_is_encoded(client, tokenizer, monkeypatch):
    begun, is_answered = threading.Event(), threading.Event()

    def encode(*_, **__):
        begun.set()
        return [int(is_answered.wait(60))]

    monkeypatch.setattr(tokenizer, "apply_chat_template", encode)
    with ThreadPoolExecutor(1) as pool:
        prompt = pool.submit(post, client, [{"role": "user", "content": "low"}])
        assert begun.wait(60)
        assert client.get("/statistics").status_code == 200  # never, if the loop waited
        is_answered.set()
        assert prompt.result().json() == {"ids": [1]}
