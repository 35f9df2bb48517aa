"""Cached properties: what forked processes need of them."""

import threading

from hf_bpe._utils.cached_property import cached_property


class Squares:
    def __init__(self):
        self.computed = []
        self.may_go_on = threading.Event()
        self.is_computing = threading.Event()

    @cached_property
    def waits(self):
        self.is_computing.set()
        self.may_go_on.wait(10)
        return 1

    @cached_property
    def square(self):
        """The square of two."""
        self.computed.append(2)
        return 4


def test_a_property_is_computed_once_for_each_instance():
    one, other = Squares(), Squares()
    assert [one.square, one.square, other.square] == [4, 4, 4]
    assert one.computed == other.computed == [2]
    assert Squares.square.__doc__ == "The square of two."


def test_property_of_another_instance_is_read_meanwhile():
    # A lock of the class, as before Python 3.12, would stay locked in a child that is forked meanwhile.
    busy, other = Squares(), Squares()
    thread = threading.Thread(target=lambda: busy.waits)
    thread.start()
    assert busy.is_computing.wait(10)
    other.may_go_on.set()
    reader = threading.Thread(target=lambda: other.waits)
    reader.start()
    reader.join(5)
    hangs = reader.is_alive()
    busy.may_go_on.set()
    thread.join()
    reader.join()
    assert not hangs
