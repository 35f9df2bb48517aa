"""The part of a link after #, which holds text and settings; browsers do not send it to a server."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any


def link_fragment(state: Mapping[str, Any]) -> str:
    """Return the fragment for a state of the page: its JSON as raw deflate in URL-safe base64; see `links.js`.

    >>> link_fragment({"text": "low"})
    '1.q1YqSa0oUbJSyskvV6oFAA'
    """
    compressor = zlib.compressobj(wbits=-15)
    data = compressor.compress(json.dumps(state, separators=(",", ":")).encode()) + compressor.flush()
    return "1." + base64.urlsafe_b64encode(data).decode().rstrip("=")
