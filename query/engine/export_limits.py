"""Turns: how many exports an organization may have under way at once."""

from collections.abc import Iterator
from contextlib import contextmanager

from schemas.errors import Unavailable

MOST_AT_ONCE = 2


class Turns:
    """Counts exports by organization."""

    def __init__(self) -> None:
        self._under_way: dict[str, int] = {}

    @contextmanager
    def taken(self, organization_id: str) -> Iterator[None]:
        """One export's turn; Unavailable when the organization has too many under way."""
        count = self._under_way.get(organization_id, 0)
        if count >= MOST_AT_ONCE:
            raise Unavailable(
                f"{count} exports of this organization are under way; wait until one has ended"
            )
        self._under_way[organization_id] = count + 1
        try:
            yield
        finally:
            self._leave(organization_id)

    def _leave(self, organization_id: str) -> None:
        left = self._under_way[organization_id] - 1
        if left:
            self._under_way[organization_id] = left
        else:
            del self._under_way[organization_id]
