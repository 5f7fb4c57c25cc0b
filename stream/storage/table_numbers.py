"""TableNumbers: next offsets and other numbers that a table keeps, at the version of its handle.

A batch needs dozens, and deltalake reads the log for each. So all are read at once, and from then
on only the log entries that are new; of a version that is our own commit we know the numbers.
"""

from collections.abc import Mapping

from schemas.lake.committed_offsets import NO_VERSION, LogSource
from schemas.lake.log_numbers import log_numbers, numbers_after


class TableNumbers:
    """The numbers of one handle, by application id. A handle stays at its version in a commit."""

    def __init__(self, log: LogSource) -> None:
        self._log = log
        self._version = NO_VERSION
        self._known: dict[str, int] = {}
        """All numbers at the version."""
        self._committed: dict[str, int] | None = None
        """The numbers of our commit to a later version than this."""

    def get(self, version: int, name: str) -> int:
        """The number at the version of the handle; 0 without one."""
        if version != self._version:
            self._known = self._at(version)
            self._version, self._committed = version, None
        return self._known.get(name, 0)

    def committed(self, version: int, numbers: Mapping[str, int]) -> None:
        """Note what was just committed through the handle, which is at this version."""
        self._committed = dict(numbers) if version == self._version else None

    def forget(self) -> None:
        """Forget all: the handle is another one."""
        self._version, self._committed = NO_VERSION, None

    def _at(self, version: int) -> dict[str, int]:
        if version == self._version + 1 and self._committed is not None:
            return self._known | self._committed
        if not NO_VERSION < self._version < version:
            return log_numbers(self._log, version)
        try:
            return self._known | numbers_after(self._log, self._version, version)
        except FileNotFoundError:  # cleaned up after a checkpoint
            return log_numbers(self._log, version)
