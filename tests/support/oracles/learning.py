"""Learning of merges with options by keyword, as `hf_bpe.reference.learn_merges` takes them."""

from hf_bpe.reference._options import LearningOptions
from hf_bpe.training import _engine


def learn_merges(counts, *, max_merges, initial=(), threads=1, alphabet=None, progress=None, **options):
    """Learn merges natively, or in Python where the core is not built."""
    start = _engine.LearningStart(initial, alphabet=alphabet, threads=threads)
    return _engine.learn_merges(counts, LearningOptions(**options), max_merges, start, progress)


def training_bytes(counts, max_merges):
    """Return the memory that learning takes at most."""
    return _engine.training_bytes(counts, max_merges, _engine.LearningStart())


learn_parity_merges = _engine.learn_parity_merges
