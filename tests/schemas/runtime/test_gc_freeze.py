"""Startup objects are frozen while a service runs, and no longer."""

import gc

from schemas.runtime.gc_freeze import frozen_startup_objects


class Something:
    """An object that the garbage collector tracks."""

    def __init__(self) -> None:
        self.itself = self


def test_what_exists_is_frozen_and_what_is_made_later_is_not() -> None:
    before = Something()

    with frozen_startup_objects():
        later = Something()
        tracked = {id(each) for each in gc.get_objects()}
        frozen = gc.get_freeze_count()

    assert frozen > 0
    assert id(later) in tracked
    assert id(before) not in tracked
    assert id(before) in {id(each) for each in gc.get_objects()}
