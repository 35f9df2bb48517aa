"""Serve the ids of chats over HTTP with FastAPI, in threads and with a prefix cache.

`await asyncio.to_thread` encodes in a thread, and the core without the GIL, so other requests are answered while a long
prompt is encoded. Of a conversation that goes on, only the new messages are encoded.

Usage: python examples/serve_fastapi.py FOLDER [PORT], with a folder that has a chat template; then, for example

    curl localhost:8000/tokenize -H 'content-type: application/json' \
        -d '{"messages": [{"role": "user", "content": "Hello!"}]}'
"""

import argparse
import asyncio
import sys

if {"-h", "--help"} & {*sys.argv}:  # also without the packages below
    print(__doc__)
    raise SystemExit

from fastapi import FastAPI, HTTPException
from jinja2 import TemplateError
from pydantic import BaseModel, Field

from hf_bpe import BPETokenizer


class Message(BaseModel):
    """A message of a chat."""

    role: str
    content: str


class Chat(BaseModel):
    """A chat that the model is to answer."""

    messages: list[Message] = Field(min_length=1)


class Tokens(BaseModel):
    """The ids of a chat."""

    ids: list[int]


def make_app(tokenizer: BPETokenizer) -> FastAPI:
    """Return the application for a tokenizer with a prefix cache."""
    app = FastAPI()

    def encode(chat: Chat) -> list[int]:
        messages = [message.model_dump() for message in chat.messages]
        return tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)

    @app.post("/tokenize")
    async def tokenize(chat: Chat) -> Tokens:
        try:
            return Tokens(ids=await asyncio.to_thread(encode, chat))
        except TemplateError as error:  # such as a role that the template does not know
            raise HTTPException(422, str(error)) from error

    @app.get("/statistics")
    async def statistics() -> dict[str, int]:
        return tokenizer.prefix_cache.statistics()._asdict()

    return app


if __name__ == "__main__":
    import uvicorn

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("port", nargs="?", type=int, default=8000)
    given = parser.parse_args()
    loaded = BPETokenizer.from_pretrained(given.folder)
    loaded.prefix_cache = "256MB"
    uvicorn.run(make_app(loaded), port=given.port)
