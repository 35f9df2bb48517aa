"""The options that give special tokens their roles: --bos-token, --eos-token, --pad-token and --unk-token."""

from __future__ import annotations

from typing import Annotated, Any

from hf_bpe.cli.options import option

ROLES = ("bos_token", "eos_token", "pad_token", "unk_token")


def _role(purpose: str) -> Any:
    help = f"The special token {purpose}; it need not be listed as one."
    return option(help, metavar="TEXT", panel="Special tokens")


BosToken = Annotated[str | None, _role("that begins a text")]
EosToken = Annotated[str | None, _role("that ends a text")]
PadToken = Annotated[str | None, _role("that fills up shorter texts of a batch")]
UnkToken = Annotated[str | None, _role("for what has no other token")]


def given_roles(*tokens: str | None) -> dict[str, Any]:
    """Return role → token for tokens in the order of ROLES, without those that are not given."""
    return {role: token for role, token in zip(ROLES, tokens, strict=True) if token is not None}
