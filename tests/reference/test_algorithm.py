"""The theorems of docs/explanation/algorithm.md, of the literal algorithms: what the faster ones and the tools rely on.

The fourth is in test_reference.py, the fifth in test_training_at_scale.py, the seventh in test_cuts.py.
"""

from collections import Counter
from itertools import combinations, pairwise, takewhile

from hypothesis import given
from hypothesis import strategies as st

from hf_bpe.conversion import recover_merges
from hf_bpe.reference import learn_merges
from support.oracles import oracle
from support.strategies import corpora, initial_merges, tie_breaks

# Of two letters, so that merges get into each other's way.
words = st.lists(st.sampled_from([b"a", b"b"]), min_size=1, max_size=16).map(b"".join)
short_words = st.lists(st.sampled_from([b"a", b"b"]), min_size=1, max_size=9).map(b"".join)
merges_in_any_order = initial_merges(letters=(b"a", b"b"))
learned_merges = st.builds(
    lambda counts, tie_break: learn_merges(counts, max_merges=12, tie_break=tie_break), corpora, tie_breaks
)
# By length all that make a token are before all that use it, even where a token has several merges.
ordered_merges = learned_merges | merges_in_any_order.map(
    lambda merges: sorted(merges, key=lambda pair: len(b"".join(pair)))
)


def is_ordered(merges):
    made_last = {first + second: rank for rank, (first, second) in enumerate(merges)}
    return all(made_last.get(part, -1) < rank for rank, pair in enumerate(merges) for part in pair)


def run(word, merges):
    """Return each merge that encoding makes: its rank, and where it begins, joins and ends."""
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    ends = [*range(len(word) + 1)]
    made = []
    while True:
        joins = zip(ends, ends[1:], ends[2:], strict=False)
        found = [(ranks.get((word[a:b], word[b:c])), a, b, c) for a, b, c in joins]
        found = [join for join in found if join[0] is not None]
        if not found:
            return made
        made.append(min(found))
        ends.remove(made[-1][2])


def moved(made, places):
    return [(rank, *(place + places for place in joined)) for rank, *joined in made]


@given(words, merges_in_any_order)
def test_runs_are_those_of_the_definition(word, merges):
    joined = {place for _, _, place, _ in run(word, merges)}
    ends = [place for place in range(len(word) + 1) if place not in joined]
    assert [word[start:stop] for start, stop in pairwise(ends)] == oracle.encode_word(word, merges)


@given(words, merges_in_any_order)
def test_stretch_is_merged_as_alone_until_its_ends_are_crossed(word, merges):
    made = run(word, merges)
    for start, stop in combinations(range(len(word) + 1), 2):
        before = [*takewhile(lambda merge, ends=(start, stop): merge[2] not in ends, made)]
        inside = [merge for merge in before if start <= merge[1] and merge[3] <= stop]
        assert inside == moved(run(word[start:stop], merges), start)[: len(inside)]


@given(words, merges_in_any_order)
def test_merges_inside_a_token_are_those_of_its_bytes_alone(word, merges):
    made = run(word, merges)
    for number, (_, start, _, stop) in enumerate(made, 1):
        inside = [merge for merge in made[:number] if start <= merge[1] and merge[3] <= stop]
        assert inside == moved(run(word[start:stop], merges), start)


@given(words, merges_in_any_order)
def test_a_place_that_no_token_covers_parts_a_word(word, merges):
    tokens = [first + second for first, second in merges]
    for place in range(1, len(word)):
        covered = any(
            word.startswith(token, place - before)
            for token in tokens
            for before in range(1, min(len(token), place + 1))
        )
        if not covered:
            parts = oracle.encode_word(word[:place], merges) + oracle.encode_word(word[place:], merges)
            assert parts == oracle.encode_word(word, merges)


@given(words, st.lists(short_words, min_size=4, max_size=20, unique=True), st.randoms(use_true_random=False))
def test_one_merge_a_token_encodes_as_all_cuts_in_two_do(word, tokens, rng):
    tokens = [token for token in tokens if len(token) > 1]
    rng.shuffle(tokens)
    every_cut = {(token[:cut], token[cut:]): rank for rank, token in enumerate(tokens) for cut in range(1, len(token))}
    merged = [word[place : place + 1] for place in range(len(word))]
    while found := [(every_cut[pair], place) for place, pair in enumerate(pairwise(merged)) if pair in every_cut]:
        place = min(found)[1]
        merged[place : place + 2] = [merged[place] + merged[place + 1]]
    ranks = {bytes([byte]): byte for byte in range(256)} | {token: 256 + rank for rank, token in enumerate(tokens)}
    recovered = recover_merges(ranks)
    assert len({first + second for first, second in recovered}) == len(recovered)
    assert oracle.encode_word(word, recovered) == merged


def replaced(tokens, pair):
    """Return tokens with a pair replaced everywhere, from left to right."""
    done, rest = [], [*tokens]
    while rest:
        number = 2 if tuple(rest[:2]) == pair else 1
        done.append(b"".join(rest[:number]))
        del rest[:number]
    return done


@given(learned_merges)
def test_training_makes_each_token_before_it_merges_it_further(merges):
    assert is_ordered(merges)


@given(words, ordered_merges)
def test_ordered_model_and_its_beginnings_merge_one_by_one(word, merges):
    assert is_ordered(merges)
    tokens = [word[place : place + 1] for place in range(len(word))]
    made = [rank for rank, *_ in run(word, merges)]
    assert made == sorted(made)
    for number, pair in enumerate(merges):
        assert tokens == oracle.encode_word(word, merges[:number])
        assert len(tokens) == len(word) - sum(rank < number for rank in made)
        tokens = replaced(tokens, pair)
    assert tokens == oracle.encode_word(word, merges)


@given(corpora, tie_breaks)
def test_pair_of_existing_tokens_never_becomes_more_frequent(counts, tie_break):
    merges = learn_merges(counts, max_merges=12, tie_break=tie_break)
    known, before = {bytes([byte]) for byte in range(256)}, Counter()
    for number in range(len(merges) + 1):
        now = Counter()
        for word, count in counts.items():
            for pair in pairwise(oracle.encode_word(word, merges[:number])):
                now[pair] += count
        assert number == 0 or all(now[pair] <= before[pair] for pair in now if known.issuperset(pair))
        known |= {b"".join(pair) for pair in merges[:number]}
        before = now


def ways(word, tokens):
    """Yield all ways to cut a word into tokens."""
    if not word:
        yield []
    for stop in range(1, len(word) + 1):
        if word[:stop] in tokens:
            for rest in ways(word[stop:], tokens):
                yield [word[:stop], *rest]


@given(short_words, merges_in_any_order)
def test_encoding_alone_has_stable_neighbors_only(word, merges):
    made = {first + second for first, second in merges} | {bytes([byte]) for byte in word}
    tokens = {token for token in made if oracle.encode_word(token, merges) == [token]}
    stable = [
        way
        for way in ways(word, tokens)
        if all(oracle.encode_word(b"".join(pair), merges) == [*pair] for pair in pairwise(way))
    ]
    assert stable == [oracle.encode_word(word, merges)]


@given(words, merges_in_any_order)
def test_a_word_needs_only_the_merges_of_its_own_bytes(word, merges):
    usable = [(first, second) for first, second in merges if {*first, *second} <= {*word}]
    assert oracle.encode_word(word, usable) == oracle.encode_word(word, merges)


@given(st.lists(words, min_size=1, max_size=8), merges_in_any_order, st.randoms(use_true_random=False))
def test_pruning_keeps_encodings_whose_tokens_are_kept(texts, merges, rng):
    parts = {}
    for first, second in merges:
        if made := run(first + second, merges):
            _, start, place, stop = made[-1]
            if (start, stop) == (0, len(first + second)):
                parts[first + second] = first + second, (first + second)[:place], (first + second)[place:]
    kept = {bytes([byte]) for byte in range(256)}
    wanted = [token for token in parts if rng.random() < 0.5]
    while wanted:
        token, *both = parts[wanted.pop()]
        wanted += [part for part in both if len(part) > 1]
        kept.add(token)
    pruned = [(first, second) for first, second in merges if kept.issuperset((first, second, first + second))]
    for text in [*texts, *kept]:
        encoded = oracle.encode_word(text, merges)
        assert not kept.issuperset(encoded) or oracle.encode_word(text, pruned) == encoded
    assert all(oracle.encode_word(token, pruned) == [token] for token in kept)


@given(words, merges_in_any_order, merges_in_any_order)
def test_appended_merges_that_do_not_apply_change_no_encoding(word, merges, new):
    encoded = oracle.encode_word(word, merges)
    if not {*pairwise(encoded)} & {*new}:
        assert oracle.encode_word(word, [*merges, *(pair for pair in new if pair not in merges)]) == encoded
