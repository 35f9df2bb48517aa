"""Learning of merges with options by keyword, as `hf_bpe.reference.learn_merges` takes them."""

from hf_bpe.reference._options import LearningOptions
from hf_bpe.training import _dispatch


def learn_merges(counts, *, max_merges, initial=(), threads=1, alphabet=None, progress=None, **options):
    """Learn merges natively, or in Python where the core is not built."""
    more = {"threads": threads, "alphabet": alphabet, "progress": progress}
    return _dispatch.learn_merges(counts, LearningOptions(**options), max_merges=max_merges, initial=initial, **more)
