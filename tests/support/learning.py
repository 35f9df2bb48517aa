"""Learning of merges with options by keyword, as `hf_bpe.reference.learn_merges` takes them."""

from hf_bpe.reference._options import LearningOptions
from hf_bpe.training import _dispatch


def learn_merges(counts, *, max_merges, initial=(), threads=1, alphabet=None, progress=None, **options):
    """Learn merges natively, or in Python where the core is not built."""
    start = _dispatch.Start(initial, alphabet=alphabet, threads=threads)
    return _dispatch.learn_merges(counts, LearningOptions(**options), max_merges, start, progress)


def training_bytes(counts, max_merges):
    """Return the memory that learning takes at most."""
    return _dispatch.training_bytes(counts, max_merges, _dispatch.Start())


learn_parity_merges = _dispatch.learn_parity_merges
