"""Ids of visitors where an export has none (access logs): hashes keyed by the registry."""

from collections.abc import Callable

from schemas.registry import RegistryStore, Selector, Website

PAUSE_MS = 30 * 60_000
MAX_VISITORS = 100_000
"""Beyond them, visitors whose visit has ended are forgotten."""


def visitor_ids(store: RegistryStore, website: Website) -> Callable[[str], str]:
    """Day, address and user agent → id; without the secret nobody finds the address of an id."""
    key = store.tombstone_key()

    def visitor_of(parts: str) -> str:
        return key.tombstone(Selector.VISITOR, f"{website.id}\0{parts}").partition(":")[2]

    return visitor_of


def blank_visitor(_: str) -> str:
    """The id that a check shows, without a registry."""
    return "(hash of day, address and user agent)"


class LogVisits:
    """Visits by pauses of 30 minutes, of lines that are in order of time, or nearly so."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, str]] = {}
        """Visitor → time of the last line, and visit."""

    def visit_of(self, visitor: str, ms: int) -> str:
        """The id of the visit of a line; the same again when the lines are read again."""
        last_ms, visit = self._last.get(visitor, (None, ""))
        if last_ms is None or abs(ms - last_ms) >= PAUSE_MS:
            visit = f"{visitor}.{ms}"
        if len(self._last) >= MAX_VISITORS:
            self._last = {
                name: found for name, found in self._last.items() if ms - found[0] < PAUSE_MS
            }
        self._last[visitor] = (ms, visit)
        return visit
