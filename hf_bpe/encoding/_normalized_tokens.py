"""Added tokens that are searched in normalized text."""

from __future__ import annotations

from hf_bpe.encoding._encoder import AddedTokenTuple
from hf_bpe.normalizers._normalizer import Normalizer


def normalized_tokens(tokens: tuple[AddedTokenTuple, ...], normalizer: Normalizer) -> dict[str, AddedTokenTuple]:
    """Return the tokens that are searched in normalized text, which `tokenizers` normalizes, too, by their content.

    Of tokens that become equal it finds an arbitrary one. With NFC that is the one with the lowest id here.

    Raises:
        ValueError: with another normalizer, two tokens become equal, or one becomes empty.
    """
    normalized: dict[str, AddedTokenTuple] = {}
    originals = {token.id: token.content for token in tokens}
    for token in sorted(tokens, key=lambda token: token.id):
        if not token.normalized:
            continue
        content = normalizer.apply(token.content)
        first = normalized.setdefault(content, token._replace(content=content)).id
        if not content:
            raise ValueError(
                f"added token {token.content!r:.80} becomes empty by the normalizer {normalizer}, and tokenizers "
                "panics on that; expected another one, or normalized=False"
            )
        if first != token.id and not normalizer.is_nfc:
            raise ValueError(
                f"added tokens {originals[first]!r:.80} and {token.content!r:.80} become equal by "
                f"the normalizer {normalizer}, and tokenizers finds either of them by chance; expected different "
                "ones, or normalized=False"
            )
    return normalized
