"""Pauses that take no time, so that retries with backoff are tested at once."""

import threading
import time
from collections.abc import Callable

import pytest


def replace_pauses(monkeypatch: pytest.MonkeyPatch, pause: Callable[[float], None]) -> None:
    """Have `time.sleep` call the function instead, in this thread; other threads sleep as ever."""
    own, sleep = threading.get_ident(), time.sleep

    def sleep_or_pause(seconds: float) -> None:
        (pause if threading.get_ident() == own else sleep)(seconds)

    monkeypatch.setattr(time, "sleep", sleep_or_pause)
