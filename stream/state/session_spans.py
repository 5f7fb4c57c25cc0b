"""Session spans of one topic partition's visitors: some in memory, the others spilled.

A span is the first and last event of a session in one hour. Spilled spans are a log-structured
merge of sorted runs on disk: each spill is one run, and runs of similar size are merged, so that
there are few to search and each span is moved a few times. A Bloom filter per run recognizes most
new visitors without reading the file. The files are unlinked: they disappear with the process.
"""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.hashes import hash63
from stream.state.bloom_filter import BloomFilter, HashProbe, Ids, Mask

SESSION_TIMEOUT_MS = 30 * 60_000
HOUR_MS = 3_600_000
WINDOW_HOURS = 2
"""Hours before its own in which the events that an event joins may have been received."""
MAX_SPANS_PER_VISITOR = 64
"""Spans that are kept of one visitor: only forged timestamps make more."""

VisitorKey = tuple[str, int]
"""Website id and visitor hash."""


class SessionSpan(Struct, frozen=True, gc=False):
    """Times of the first and last event of one session, of those received in one hour."""

    session_id: str
    hour: int
    first: int
    last: int

    def distance(self, ms: int) -> int:
        return max(self.first - ms, ms - self.last, 0)

    def extended(self, first: int, last: int) -> "SessionSpan":
        if self.first <= first and last <= self.last:
            return self
        return SessionSpan(self.session_id, self.hour, min(self.first, first), max(self.last, last))


SessionSpans = tuple[SessionSpan, ...]


def nearest(spans: SessionSpans, ms: int, hour: int) -> str | None:
    """The session that an event of this time joins; None when none is within the timeout."""
    near = [
        (distance, span.first, span.session_id)
        for span in spans
        if span.hour >= hour - WINDOW_HOURS and (distance := span.distance(ms)) < SESSION_TIMEOUT_MS
    ]
    return min(near)[2] if near else None


def extended(
    spans: SessionSpans, session_id: str, hour: int, first: int, last: int
) -> SessionSpans:
    """The spans, with the session's span of this hour extended to these times."""
    for index, span in enumerate(spans):
        if span.hour == hour and span.session_id == session_id:
            return (*spans[:index], span.extended(first, last), *spans[index + 1 :])
    return (*spans[-(MAX_SPANS_PER_VISITOR - 1) :], SessionSpan(session_id, hour, first, last))


MAX_SPILLED_SPANS = 2_000_000
"""Spans in the files of one topic partition at most, 80 MB. Beyond it the websites with the most
spans lose their oldest."""

DERIVED_PREFIX = "gap_"
"""Prefix of derived session ids; the rest is a number in hexadecimal."""

SPAN_DTYPE = np.dtype(
    [("website", "i4"), ("hour", "i4"), ("session", "u8"), ("first", "i8"), ("last", "i8")]
)
SpanArray = npt.NDArray[np.void]
Numbers = npt.NDArray[np.intp]

_numbers: GenerationalCache[str, int] = GenerationalCache(hash63)


def derived_session_id(session: int) -> str:
    """The id of a derived session, one that no tracker named."""
    return f"{DERIVED_PREFIX}{session:016x}"


class SortedRun:
    """Spans sorted by visitor, in a memory-mapped file behind a Bloom filter."""

    def __init__(self, folder: Path, keys: Ids, rows: SpanArray) -> None:
        self.filter = BloomFilter(len(keys))
        self.filter.add(keys)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            keys.tofile(file)
            rows.tofile(file)
            file.flush()
            # As plain arrays, which are faster to slice.
            self.keys: Ids = np.asarray(np.memmap(file, np.uint64, "r", shape=keys.shape))
            mapped = np.memmap(file, SPAN_DTYPE, "r", offset=keys.nbytes, shape=rows.shape)
            self.rows: SpanArray = np.asarray(mapped)

    def __len__(self) -> int:
        return len(self.keys)

    def find(self, keys: Ids, websites: npt.NDArray[np.int32]) -> tuple[Numbers, SpanArray]:
        """The spans of these visitors, and for each span the position of its visitor in `keys`."""
        candidates = self.filter.candidates(HashProbe(keys))
        first = np.searchsorted(self.keys, keys[candidates])
        counts = np.searchsorted(self.keys, keys[candidates], "right") - first
        visitor_indexes = np.repeat(candidates, counts)
        before = np.repeat(np.cumsum(counts) - counts, counts)
        rows = self.rows[np.repeat(first, counts) + np.arange(len(visitor_indexes)) - before]
        is_own = rows["website"] == websites[visitor_indexes]
        return visitor_indexes[is_own], rows[is_own]


class SessionSpill:
    """The spilled spans of one topic partition; a visitor's newest spill replaces older ones."""

    def __init__(self, folder: Path, max_spans: int = MAX_SPILLED_SPANS) -> None:
        self._folder = folder
        self._most = max_spans
        self._runs: list[SortedRun] = []
        """From old and large to new and small; the newest that has a visitor is valid."""
        self._websites: dict[str, int] = {}
        self._expired_before = 0

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def spill(self, visitors: Iterable[tuple[VisitorKey, SessionSpans]]) -> None:
        """Write these spans as a new sorted run."""
        keys: list[int] = []
        rows: list[tuple[int, ...]] = []
        for visitor, spans in visitors:
            website = self._websites.setdefault(visitor[0], len(self._websites))
            for span in spans:
                keys.append(_key(visitor))
                session = int(span.session_id.removeprefix(DERIVED_PREFIX), 16)
                rows.append((website, span.hour, session, span.first, span.last))
        if keys:
            self._add(np.array(keys, np.uint64), np.array(rows, SPAN_DTYPE))
            if len(self) > self._most:
                self._evict()

    def find(self, visitors: Sequence[VisitorKey]) -> Mapping[VisitorKey, SessionSpans]:
        """The spilled spans of those visitors that have some."""
        found: dict[VisitorKey, SessionSpans] = {}
        requested = [visitor for visitor in visitors if visitor[0] in self._websites]
        websites = np.array([self._websites[website] for website, _ in requested], np.int32)
        keys = np.fromiter(map(_key, requested), np.uint64, len(requested))
        remaining = np.arange(len(requested))
        for run in reversed(self._runs):
            visitor_indexes, rows = run.find(keys[remaining], websites[remaining])
            found_indexes = remaining[visitor_indexes]
            for index, (_, hour, session, first, last) in zip(
                found_indexes.tolist(), rows.tolist(), strict=True
            ):
                if hour >= self._expired_before:
                    span = SessionSpan(derived_session_id(session), hour, first, last)
                    found[requested[index]] = (*found.get(requested[index], ()), span)
            remaining = np.setdiff1d(remaining, found_indexes)
        return found

    def forget(self, before: int) -> None:
        """Drop spans received before this hour, at the latest when their run is merged."""
        self._expired_before = before
        self._runs = [run for run in self._runs if run.rows["hour"].max() >= before]

    def _add(self, keys: Ids, rows: SpanArray) -> None:
        """Add a sorted run, merged with those before it that are not much larger."""
        order = np.argsort(keys, kind="stable")
        keys, rows = keys[order], rows[order]
        while self._runs and len(self._runs[-1]) <= 2 * len(keys):
            keys, rows = self._merged(self._runs.pop(), keys, rows)
        self._runs.append(SortedRun(self._folder, keys, rows))

    def _merged(self, old: SortedRun, keys: Ids, rows: SpanArray) -> tuple[Ids, SpanArray]:
        is_kept = (old.rows["hour"] >= self._expired_before) & ~_within(old.keys, keys)
        keys = np.concatenate((old.keys[is_kept], keys))
        rows = np.concatenate((old.rows[is_kept], rows))
        order = np.argsort(keys, kind="stable")
        return keys[order], rows[order]

    def _evict(self) -> None:
        """Drop a quarter of the spans: the oldest ones of the websites that have the most."""
        keys, rows = self._runs[-1].keys, self._runs[-1].rows
        for run in reversed(self._runs[:-1]):
            keys, rows = self._merged(run, keys, rows)
        share = max_min_share(np.bincount(rows["website"]).tolist(), self._most * 3 // 4)
        order = np.lexsort((-rows["last"], -rows["hour"], rows["website"]))
        sorted_ = rows["website"][order]
        rank = np.arange(len(order)) - np.searchsorted(sorted_, sorted_)
        is_kept = np.zeros(len(order), np.bool_)
        is_kept[order[rank < share]] = True
        self._runs = [SortedRun(self._folder, keys[is_kept], rows[is_kept])]


def _key(visitor: VisitorKey) -> int:
    """The sort key of a visitor; the website column tells apart visitors with the same key."""
    website, visitor_hash = visitor
    return visitor_hash ^ _numbers[website]


def _within(keys: Ids, others: Ids) -> Mask:
    """Which of the keys occur in `others`, which are sorted."""
    positions = np.minimum(np.searchsorted(others, keys), len(others) - 1)
    found: Mask = others[positions] == keys
    return found


def max_min_share(sizes: Iterable[int], limit: int) -> int:
    """Max-min fair share: the size to which each is cut so that their sum is within `limit`."""
    remaining = sorted(sizes)
    for index, size in enumerate(remaining):
        share = limit // (len(remaining) - index)
        if size > share:
            return share
        limit -= size
    return remaining[-1] if remaining else 0


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
        """Spans by website and visitor hash; least recently seen visitors first."""
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
