"""Cache of values by key, bounded by their bytes: what was not used for longest goes first."""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any

ENTRY_BYTES = 1_000
"""Of an entry beside its value: its key, which is to be no longer, and its place in the cache."""


def digest(*values: object) -> bytes:
    """Stands in keys for values that their `repr` tells apart."""
    return hashlib.sha256(repr(values).encode()).digest()


class ByteCache:
    """Safe for several threads."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = Lock()
        self._making: dict[Hashable, Lock] = {}
        self.size = 0
        """Bytes of all entries."""

    def get(self, key: Hashable) -> Any:
        """The value; None when there is none."""
        with self._lock:
            if (found := self._values.get(key)) is None:
                return None
            self._values.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, value: Any, size: int) -> None:
        """Keep a value of so many bytes, unless it alone exceeds the limit."""
        size += ENTRY_BYTES
        if size > self._max_bytes:
            return
        with self._lock:
            if (old := self._values.pop(key, None)) is not None:
                self.size -= old[1]
            self._values[key] = value, size
            self.size += size
            while self.size > self._max_bytes:
                _, (_, removed) = self._values.popitem(last=False)
                self.size -= removed

    def clear(self) -> None:
        """Forget all values."""
        with self._lock:
            self._values.clear()
            self.size = 0

    def made(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The value, whose `size` is its bytes; it is made when there is none, by one thread."""
        with self._lock:
            making = self._making.setdefault(key, Lock())
        try:
            with making:
                if (value := self.get(key)) is None:
                    value = make()
                    self.put(key, value, value.size)
                return value
        finally:
            with self._lock:
                self._making.pop(key, None)
