"""KeptIndexes: what is made once of all rows of a set of parts, in memory and in the folder."""

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from query.prepared.byte_cache import ByteCache
from query.prepared.index_folder import IndexFolder, PartSet, log
from schemas.lake.delta_table import DataFile

LEAST_SECONDS, LEAST_BYTES = 0.05, 64 * 1024
"""An index is stored that took so long or has so many bytes; others are made as quickly as read."""
KEY_BYTES = 100
"""Of the key of a part in memory, about."""
MOST_KNOWN = 8
"""Sets of parts of one website that are looked at."""
MOST_TIMES = 4
"""Parts of a set by those asked for: small ranges would take time for all of its rows."""
FEW_PARTS, FEW_ROWS = 12, 4_000_000
"""Parts, and rows of their data files, of which no index but that of numbers is made: a day is
joined with the day before and the day after it, which have parts of its sessions."""
WRITER = ThreadPoolExecutor(1, thread_name_prefix="indexes")
"""Writes behind the queries that indexes were made for."""


def are_few(parts: PartSet, data_files: Iterable[DataFile]) -> bool:
    """Whether queries of these parts, such as those of a day, read the rows without an index.

    Rows are counted once in less time than they are sorted.
    """
    if len(parts) > FEW_PARTS:
        return False
    read = {key.data_file for key in parts}
    return sum(file.rows for file in data_files if file.path in read) <= FEW_ROWS


def _has_all(parts: PartSet, wanted: PartSet, stored: Collection[str]) -> bool:
    """Whether a set has all that are wanted, and is of stored data files."""
    return wanted <= parts and all(key.data_file in stored for key in parts)


class KeptIndexes:
    """The indexes of all websites; safe for several threads."""

    def __init__(
        self,
        memory: ByteCache,
        folder: IndexFolder,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._memory = memory
        self._folder = folder
        self._monotonic = monotonic

    def made(
        self, name: object, parts: PartSet, make: Callable[[], Any], *, stored: bool = True
    ) -> Any:
        """The index of this name of a set of parts; it is made when there is none.

        One that is not `stored` stays in memory only.
        """
        missing = partial(self._read_or_make, name, parts, make) if stored else make
        return self._memory.made((name, parts), missing)

    def known_parts(
        self,
        wanted: PartSet,
        stored: Collection[str],
        *,
        is_kept: bool = True,
        index: str | None = None,
    ) -> PartSet:
        """A set with these parts: the last used one that has more of them, but not too many.

        One of which there is an `index` comes first, and may have any number of them. All its
        parts are of stored data files: what is made of a set has the rows of all of them.
        Those asked for serve later queries if the set `is_kept`.
        """
        [website] = {key.website for key in wanted}
        known: Sequence[PartSet] | None = self._memory.get(("sets", website))
        if known is None:
            known = self._folder.sets(website)
            self._keep_sets(website, known)
        useful = [parts for parts in known if _has_all(parts, wanted, stored)]
        if index is not None:
            for parts in useful:
                if self._memory.get((index, parts)) or self._folder.has(index, parts):
                    return parts
        for parts in useful:
            if len(parts) <= MOST_TIMES * len(wanted):
                return parts
        if is_kept:
            self._keep_sets(website, [wanted, *known][:MOST_KNOWN])
        return wanted

    def forget_parts(self, website: str) -> None:
        """Forget all sets of a website, one of which has a part that is gone."""
        self._keep_sets(website, ())

    def _keep_sets(self, website: str, sets: Sequence[PartSet]) -> None:
        self._memory.put(("sets", website), sets, KEY_BYTES * (1 + sum(map(len, sets))))

    def _read_or_make(self, name: object, parts: PartSet, make: Callable[[], Any]) -> Any:
        index = self._folder.read(name, parts)
        if index is None:
            began = self._monotonic()
            index = make()
            if self._monotonic() - began >= LEAST_SECONDS or index.size >= LEAST_BYTES:
                WRITER.submit(self._write, name, parts, index)
        return index

    def _write(self, name: object, parts: PartSet, index: object) -> None:
        try:
            self._folder.write(name, parts, index)
        except Exception as error:  # the index is in memory; the next process makes it anew
            log.warning("index was not stored", extra={"error": str(error)})
