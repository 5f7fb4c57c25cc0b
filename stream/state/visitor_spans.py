"""The session spans of one topic partition's visitors: some in memory, the others spilled."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from stream.state.memory_budget import max_min_share
from stream.state.session_spans import SessionSpans, VisitorKey
from stream.state.session_spill import SessionSpill

MAX_SPANS_IN_MEMORY = 50_000
"""Spans (sessions by hour) of one topic partition in memory; more are spilled."""


class VisitorSpans:
    """Finds, replaces and expires spans by visitor.

    Each website has a fair share of the memory. Beyond it, its least recently seen visitors are
    spilled, so that forged visitors of one website do not slow down the others.
    """

    def __init__(self, folder: Path) -> None:
        self.spilled = SessionSpill(folder)
        self.websites: dict[str, dict[int, SessionSpans]] = {}
        """By website and visitor hash; least recently seen visitors first."""
        self._sizes: dict[str, int] = {}
        """Spans in memory, by website."""

    def of(self, visitor: VisitorKey) -> SessionSpans | None:
        """The spans of a visitor that are in memory."""
        website, visitor_hash = visitor
        in_memory = self.websites.get(website)
        return in_memory.get(visitor_hash) if in_memory else None

    def load_spilled(self, visitors: Iterable[VisitorKey]) -> Mapping[VisitorKey, SessionSpans]:
        """The spilled spans of those visitors that are not in memory."""
        if not len(self.spilled):
            return {}
        return self.spilled.find([v for v in dict.fromkeys(visitors) if self.of(v) is None])

    def update(self, changed: Mapping[VisitorKey, SessionSpans]) -> None:
        """Replace the spans of these visitors."""
        for (website, visitor_hash), spans in changed.items():
            in_memory = self.websites.setdefault(website, {})
            before = in_memory.pop(visitor_hash, ())
            in_memory[visitor_hash] = spans
            self._sizes[website] = self._sizes.get(website, 0) + len(spans) - len(before)
        if sum(self._sizes.values()) > MAX_SPANS_IN_MEMORY:
            share = max_min_share(self._sizes.values(), MAX_SPANS_IN_MEMORY * 3 // 4)
            self.spilled.spill(list(self._evict(share)))

    def expire(self, before: int) -> None:
        """Drop spans received before this hour."""
        self.spilled.forget(before)
        for website, in_memory in list(self.websites.items()):
            kept = {
                visitor_hash: tuple([span for span in spans if span.hour >= before])
                for visitor_hash, spans in in_memory.items()
            }
            self.websites[website] = {visitor: spans for visitor, spans in kept.items() if spans}
            self._sizes[website] = sum(map(len, kept.values()))
            if not self._sizes[website]:
                del self.websites[website], self._sizes[website]

    def _evict(self, share: int) -> Iterator[tuple[VisitorKey, SessionSpans]]:
        """Remove from memory the visitors of each website that exceed its share."""
        for website, in_memory in self.websites.items():
            # As a list: finding the first key of a dict again and again is quadratic.
            for visitor_hash in list(in_memory) if self._sizes[website] > share else ():
                if self._sizes[website] <= share:
                    break
                spans = in_memory.pop(visitor_hash)
                self._sizes[website] -= len(spans)
                yield (website, visitor_hash), spans
