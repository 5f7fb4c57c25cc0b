"""Turns: how many exports an organization may have under way at once."""

from collections.abc import Iterator
from contextlib import contextmanager

from schemas.errors import Unavailable

MAX_EXPORTS = 2


class ExportLimiter:
    """Counts exports by organization."""

    def __init__(self) -> None:
        self._running: dict[str, int] = {}

    @contextmanager
    def slot(self, organization_id: str) -> Iterator[None]:
        """One export's turn; Unavailable when the organization has too many under way."""
        count = self._running.get(organization_id, 0)
        if count >= MAX_EXPORTS:
            raise Unavailable(
                f"{count} exports of this organization are under way; wait until one has ended"
            )
        self._running[organization_id] = count + 1
        try:
            yield
        finally:
            self._leave(organization_id)

    def _leave(self, organization_id: str) -> None:
        left = self._running[organization_id] - 1
        if left:
            self._running[organization_id] = left
        else:
            del self._running[organization_id]
