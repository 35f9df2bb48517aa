"""Random expressions and chains of them, split by `tokenizers` and by the native core.

    PYTHONPATH=tests python -m support.expression_fuzz [--count 200000] [--seed 0]

Each is tried on four short texts. The native core must split as `tokenizers` does, unless the expression is refused.
test_expressions.py and test_chains.py try a few.
"""

import argparse
import random
from collections import Counter

from tokenizers import Regex, pre_tokenizers

from hf_bpe.pretokenizers import Split, canonical_pattern
from hf_bpe.pretokenizers._stages import BEHAVIORS
from support.native_patterns import native_pieces

LITERALS = ["a", "b", "s", "k", "A", "K", "1", " ", r"\.", r"\n", "-", "é", "中", r"\x{62}", r"\u0063"]
ESCAPES = [r"\s", r"\S", r"\w", r"\W", r"\d", r"\h", r"\p{L}", r"\P{N}", r"\p{^Lu}", r"\p{Han}", r"\R", "."]
ANCHORS = ["^", "$", r"\b", r"\B", r"\A", r"\z", r"\Z", r"\G", "(?#c)"]
QUANTIFIERS = [
    *("", "", "", "*", "+", "?", "*?", "+?", "??", "*+", "++", "?+"),
    *("{2}", "{,2}", "{1,}", "{1,2}?", "{1,2}+", "{2,1}", "{2}?"),
]
MEMBERS = ["a", "s", "k", "1", "-", "^", "|", "é", "a-c", "A-Z", r"\s", r"\W", r"\p{L}", "[:alpha:]", "&&"]
GROUPS = ["(", "(?:", "(?>", "(?i:", "(?m:", "(?x:", "(?-i:", "(?i)(?:", "(?=", "(?!", "(?<=", "(?<!", "(?<n>"]
CHARACTERS = "aabcsSkKA\u017f\u212a1 \n\r.-é中\u00b2\u0301|^\u0295"


def random_class(draw: random.Random) -> str:
    inner = random_class(draw) if draw.random() < 0.2 else ""
    return f"[{draw.choice(['', '^'])}{''.join(draw.choices(MEMBERS, k=draw.randint(1, 4)))}{inner}]"


def random_expression(draw: random.Random, depth: int = 3) -> str:
    kind = draw.random()
    if depth == 0 or kind < 0.4:
        atoms = [draw.choice(LITERALS), draw.choice(LITERALS), draw.choice(ESCAPES), draw.choice(ANCHORS)]
        return draw.choice([*atoms, random_class(draw)]) + draw.choice(QUANTIFIERS)
    if kind < 0.65:
        return "".join(random_expression(draw, depth - 1) for _ in range(draw.randint(0, 3)))
    if kind < 0.8:
        return "|".join(random_expression(draw, depth - 1) for _ in range(draw.randint(2, 3)))
    return f"{draw.choice(GROUPS)}{random_expression(draw, depth - 1)}){draw.choice(QUANTIFIERS)}"


def random_stages(draw: random.Random) -> list[Split]:
    if draw.random() < 0.7:
        return [Split(f"{random_expression(draw)}(?#)")]
    count = draw.randint(1, 5)
    return [Split(random_expression(draw, 2), draw.choice(BEHAVIORS), draw.random() < 0.3) for _ in range(count)]


def try_one(draw: random.Random) -> str:
    """Return what became of a random chain; raise an AssertionError if it is split in two ways."""
    stages = random_stages(draw)
    try:
        pattern = canonical_pattern(stages)
    except ValueError:
        return "refused"
    theirs = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(each.expression), _name(each.behavior), each.invert) for each in stages]
    )
    outcome = "chains equal" if len(stages) > 1 else "expressions equal"
    for _ in range(4):
        text = "".join(draw.choices(CHARACTERS, k=draw.randint(1, 10)))
        found = native_pieces(text, pattern)
        if found is None:
            return "not native"
        try:
            expected = [piece for piece, _ in theirs.pre_tokenize_str(text)]
        except BaseException as error:  # a panic of Rust is no Exception
            if type(error).__name__ != "PanicException":
                raise
            return "panics in tokenizers"
        assert found == expected, f"{stages!r} on {text!r}: expected {expected!r}, got {found!r}"
    return outcome


def _name(behavior: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in behavior).strip("_")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    draw = random.Random(given.seed)
    outcomes = Counter(try_one(draw) for _ in range(given.count))
    print(", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common()))


if __name__ == "__main__":
    main()
