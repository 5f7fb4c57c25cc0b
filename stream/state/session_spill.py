"""Spilled spans: sessions of visitors unseen for a while, in sorted files without a name.

A log-structured merge: each spill is one sorted run, and runs of like size are joined, so that
there are few to search and each span is moved a few times. A Bloom filter in front of every run
knows most visitors for new, for whom no file is read. The files are gone with the process, whatever
ends it.
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
"""Spans in the files of one topic partition: 80 MB. Beyond it, who has most loses the oldest."""

DERIVED_PREFIX = "gap_"
"""How the ids of sessions that were made here begin; the rest is a number."""

SPAN_DTYPE = np.dtype(
    [("website", "i4"), ("hour", "i4"), ("session", "u8"), ("first", "i8"), ("last", "i8")]
)
SpanArray = npt.NDArray[np.void]
Numbers = npt.NDArray[np.intp]

_numbers: GenerationalCache[str, int] = GenerationalCache(hash63)


def derived_session_id(session: int) -> str:
    """The id of a session that was made here."""
    return f"{DERIVED_PREFIX}{session:016x}"


class SortedRun:
    """Spans sorted by visitor, in a file."""

    def __init__(self, folder: Path, keys: Ids, rows: SpanArray) -> None:
        self.filter = BloomFilter(len(keys))
        self.filter.add(keys)
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            keys.tofile(file)
            rows.tofile(file)
            file.flush()
            # As plain arrays, which are faster to cut.
            self.keys: Ids = np.asarray(np.memmap(file, np.uint64, "r", shape=keys.shape))
            held = np.memmap(file, SPAN_DTYPE, "r", offset=keys.nbytes, shape=rows.shape)
            self.rows: SpanArray = np.asarray(held)

    def __len__(self) -> int:
        return len(self.keys)

    def find(self, keys: Ids, websites: npt.NDArray[np.int32]) -> tuple[Numbers, SpanArray]:
        """The spans of these visitors, and for each the place of its visitor among the asked."""
        suspects = self.filter.candidates(HashProbe(keys))
        first = np.searchsorted(self.keys, keys[suspects])
        counts = np.searchsorted(self.keys, keys[suspects], "right") - first
        of = np.repeat(suspects, counts)
        before = np.repeat(np.cumsum(counts) - counts, counts)
        rows = self.rows[np.repeat(first, counts) + np.arange(len(of)) - before]
        own = rows["website"] == websites[of]
        return of[own], rows[own]


class SessionSpill:
    """Of one topic partition's visitors: of each the newest spill, which is all that is known."""

    def __init__(self, folder: Path, max_spans: int = MAX_SPILLED_SPANS) -> None:
        self._folder = folder
        self._most = max_spans
        self._runs: list[SortedRun] = []
        """From old and large to new and small; the newest that has a visitor is right."""
        self._websites: dict[str, int] = {}
        self._expired_before = 0

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def spill(self, visitors: Iterable[tuple[VisitorKey, SessionSpans]]) -> None:
        """Keep these in a file."""
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
        """What was spilled of these visitors, where something was."""
        found: dict[VisitorKey, SessionSpans] = {}
        asked = [visitor for visitor in visitors if visitor[0] in self._websites]
        websites = np.array([self._websites[website] for website, _ in asked], np.int32)
        keys = np.fromiter(map(_key, asked), np.uint64, len(asked))
        left = np.arange(len(asked))
        for run in reversed(self._runs):
            of, rows = run.find(keys[left], websites[left])
            there = left[of]
            for at, (_, hour, session, first, last) in zip(
                there.tolist(), rows.tolist(), strict=True
            ):
                if hour >= self._expired_before:
                    span = SessionSpan(derived_session_id(session), hour, first, last)
                    found[asked[at]] = (*found.get(asked[at], ()), span)
            left = np.setdiff1d(left, there)
        return found

    def forget(self, before: int) -> None:
        """Drop what was received before this hour, at the latest when its run is joined."""
        self._expired_before = before
        self._runs = [run for run in self._runs if run.rows["hour"].max() >= before]

    def _add(self, keys: Ids, rows: SpanArray) -> None:
        """A new run, joined with those before it that are not much larger."""
        order = np.argsort(keys, kind="stable")
        keys, rows = keys[order], rows[order]
        while self._runs and len(self._runs[-1]) <= 2 * len(keys):
            keys, rows = self._joined(self._runs.pop(), keys, rows)
        self._runs.append(SortedRun(self._folder, keys, rows))

    def _joined(self, old: SortedRun, keys: Ids, rows: SpanArray) -> tuple[Ids, SpanArray]:
        stays = (old.rows["hour"] >= self._expired_before) & ~_within(old.keys, keys)
        keys = np.concatenate((old.keys[stays], keys))
        rows = np.concatenate((old.rows[stays], rows))
        order = np.argsort(keys, kind="stable")
        return keys[order], rows[order]

    def _evict(self) -> None:
        """Drop a quarter: of the websites that have most, what was received first."""
        keys, rows = self._runs[-1].keys, self._runs[-1].rows
        for run in reversed(self._runs[:-1]):
            keys, rows = self._joined(run, keys, rows)
        share = max_min_share(np.bincount(rows["website"]).tolist(), self._most * 3 // 4)
        order = np.lexsort((-rows["last"], -rows["hour"], rows["website"]))
        sorted_ = rows["website"][order]
        rank = np.arange(len(order)) - np.searchsorted(sorted_, sorted_)
        stays = np.zeros(len(order), np.bool_)
        stays[order[rank < share]] = True
        self._runs = [SortedRun(self._folder, keys[stays], rows[stays])]


def _key(visitor: VisitorKey) -> int:
    """By which a visitor is sorted; who has the same by chance is told apart by the website."""
    website, visitor_hash = visitor
    return visitor_hash ^ _numbers[website]


def _within(keys: Ids, others: Ids) -> Mask:
    """Which of the keys are among the others, which are sorted."""
    places = np.minimum(np.searchsorted(others, keys), len(others) - 1)
    found: Mask = others[places] == keys
    return found
