"""Memo: answers that were worked out before, in two generations of a plain dict.

A worker sees few distinct agents, pages and visitors at a time. A dict answers in a twentieth of
the time that the libraries' own caches take.
"""

from collections.abc import Callable, Hashable
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

MAX_ENTRIES = 32_768
MAX_KEY_LENGTH = 512
"""Longer texts are worked out each time: they are rare, and many of them would fill the memory."""
AVERAGE_KEY_LENGTH = 128
"""Letters that there is room for, for each text: what is all longer is forgotten sooner."""


class GenerationalCache(dict[Key, Value]):
    """Answers by question, at most twice `size`, so that no input can grow it.

    When it is full it becomes the old generation; what is still asked for comes back from there.
    """

    def __init__(self, answer: Callable[[Key], Value], size: int = MAX_ENTRIES) -> None:
        super().__init__()
        self._answer = answer
        self._size = size
        self._room = AVERAGE_KEY_LENGTH * size
        self._old: dict[Key, Value] = {}

    def __missing__(self, question: Key) -> Value:
        if isinstance(question, str):
            if len(question) > MAX_KEY_LENGTH:
                return self._answer(question)
            self._room -= len(question)
        elif isinstance(question, tuple) and _letters(question) > 2 * MAX_KEY_LENGTH:
            return self._answer(question)
        if len(self) >= self._size or self._room < 0:
            self._old = dict(self)
            self.clear()
            self._room = AVERAGE_KEY_LENGTH * self._size
        known = question in self._old
        answer = self[question] = self._old[question] if known else self._answer(question)
        return answer


def _letters(parts: tuple[object, ...]) -> int:
    """Of all texts among the parts: an agent with its hints can be ten times as long as usual."""
    return sum(len(part) for part in parts if isinstance(part, str))
