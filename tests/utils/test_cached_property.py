"""Cached properties: what forked processes need of them."""

from concurrent.futures import ThreadPoolExecutor

from hf_bpe._utils.cached_property import cached_property


class Squares:
    other = None

    def __init__(self):
        self.computed = []

    @cached_property
    def square(self):
        """The square of two."""
        self.computed.append(2)
        return 4

    @cached_property
    def of_the_other(self):
        pool = ThreadPoolExecutor(1)
        try:
            return pool.submit(getattr, self.other, "of_the_other").result(5) if self.other else 1
        finally:
            pool.shutdown(wait=False)


def test_a_property_is_computed_once_for_each_instance():
    one, other = Squares(), Squares()
    assert [one.square, one.square, other.square] == [4, 4, 4]
    assert one.computed == other.computed == [2]
    assert Squares.square.__doc__ == "The square of two."


def test_property_of_another_instance_is_read_meanwhile():
    # A lock of the class, as before Python 3.12, would stay locked in a child that is forked meanwhile.
    busy = Squares()
    busy.other = Squares()
    assert busy.of_the_other == 1
