"""TableNumbers: next offsets and other numbers that a table keeps, remembered per version.

deltalake looks each number up in the log, some tenths of a millisecond each, and a batch needs
dozens. So a number is remembered for the version of the handle that it was read at, and beyond it
only when the version after it is our own commit, whose numbers we know.
"""

from collections.abc import Mapping
from typing import Protocol

NO_VERSION = -1


class TableHandle(Protocol):
    """What is needed of deltalake's handle."""

    def version(self) -> int: ...

    def transaction_version(self, app_id: str) -> int | None: ...


class TableNumbers:
    """The numbers of one handle, by application id. A handle stays at its version in a commit."""

    def __init__(self) -> None:
        self._version = NO_VERSION
        self._known: dict[str, int] = {}
        self._committed: Mapping[str, int] | None = None
        """The numbers of our commit to a later version than this."""

    def get(self, handle: TableHandle, name: str) -> int:
        """The number at the version of the handle; 0 without one."""
        version = handle.version()
        if version != self._version:
            self._advance(version)
        number = self._known.get(name)
        if number is None:
            number = self._known[name] = handle.transaction_version(name) or 0
        return number

    def committed(self, handle: TableHandle, numbers: Mapping[str, int]) -> None:
        """Note what was just committed through the handle."""
        self._committed = None
        if handle.version() == self._version:
            self._committed = dict(numbers)

    def forget(self) -> None:
        """Forget all: the handle is another one."""
        self._version, self._committed = NO_VERSION, None

    def _advance(self, version: int) -> None:
        """Move to a version: our commit is all that is new if it is the one right after ours."""
        if version == self._version + 1 and self._committed is not None:
            self._known.update(self._committed)
        else:
            self._known.clear()
        self._version, self._committed = version, None
