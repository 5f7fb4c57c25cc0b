"""The time, as something that can be handed in."""

import time
from collections.abc import Callable

Clock = Callable[[], int]
"""Answers the present instant in whole milliseconds since 1970, UTC."""


def now_ms() -> int:
    """The clock of this machine."""
    return time.time_ns() // 1_000_000
