"""Spilled sessions: a log-structured merge of sorted runs on disk.

Holds visitors that were not seen for a while. Each spill is one sorted run, and runs of similar
size are merged, so that there are few to search and each span is moved a few times. A Bloom filter
per run recognizes most new visitors without reading the file. The files are unlinked, so that they
disappear with the process.
"""

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.hashes import hash63
from stream.state.bloom_filter import BloomFilter, HashProbe, Ids, Mask
from stream.state.memory_budget import max_min_share
from stream.state.session_spans import SessionSpan, SessionSpans, VisitorKey

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
