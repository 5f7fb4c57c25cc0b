"""Objects of the start are left out of full garbage collections."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def frozen_startup_objects() -> Iterator[None]:
    """Freeze what exists now: a full collection then visits only what was made later.

    Modules and declarations are never garbage, and visiting them all stops every request. They are
    unfrozen at the end, so that libraries can clean up when the process exits.
    """
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
