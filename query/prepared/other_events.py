"""Custom events and outbound clicks of parts, and what groups of them add up to."""

from collections.abc import Sequence

import numpy as np

from query.engine.column_rows import NO_TEXT, Numbers
from query.prepared.group_numbers import distinct_values, greatest, least, sums
from query.prepared.joined_parts import JoinedParts
from query.prepared.part import SESSION_COLUMN
from query.prepared.part_tables import OTHER_EVENTS, QUARTER_MS, label
from query.prepared.part_texts import NumberedTexts

TABLES: Sequence[str] = (OTHER_EVENTS.name,)


class OtherEvents:
    """The rows of one of the two kinds."""

    def __init__(self, joined: JoinedParts, *, are_outbound: bool) -> None:
        self._joined = joined
        domains, _ = joined.text_numbers(OTHER_EVENTS.name, label("outbound_domain"))
        self._at = np.flatnonzero((domains != NO_TEXT) == are_outbound)
        self._columns: dict[str, Numbers] = {}

    @property
    def row_count(self) -> int:
        """The number of rows, each of which stands for events of a quarter."""
        return len(self._at)

    def _column(self, name: str) -> Numbers:
        """A column of the rows; few queries need all."""
        if name not in self._columns:
            values = self._joined.columns(OTHER_EVENTS.name, name)[name]
            self._columns[name] = values[self._at]
        return self._columns[name]

    def buckets(self, buckets: Numbers) -> Numbers:
        """The bucket of each row, from that of each quarter that is asked for."""
        own: Numbers = buckets[self._column("quarter").astype(np.int64) - self._joined.first]
        return own

    def texts(self, column: str) -> NumberedTexts:
        """A column of texts."""
        numbers, texts = self._joined.text_numbers(OTHER_EVENTS.name, label(column))
        return numbers[self._at], texts

    def events(self, groups: Numbers, count: int) -> Numbers:
        """The number of events of each group."""
        return sums(groups, self._column("row_count"), count)

    def distinct_texts(self, column: str, groups: Numbers, count: int) -> Numbers:
        """The number of texts of each group."""
        numbers, texts = self.texts(column)
        return distinct_values(groups, numbers, count, len(texts))

    def with_properties(self, groups: Numbers, count: int) -> Numbers:
        """The number of events with properties of each group."""
        return sums(groups, self._column("with_properties"), count)

    def visitors(self, groups: Numbers, count: int) -> Numbers:
        """The number of visitors of each group."""
        return self._joined.distinct(groups, self._column("visitor"), count)

    def sessions(self, groups: Numbers, count: int) -> Numbers:
        """The number of sessions of each group."""
        return self._joined.distinct(groups, self._column(SESSION_COLUMN), count, SESSION_COLUMN)

    def first_ms(self, groups: Numbers, count: int) -> Numbers:
        """Unix milliseconds of the first event of each group."""
        return least(groups, self._start_ms, count)

    def last_ms(self, groups: Numbers, count: int) -> Numbers:
        """Unix milliseconds of the last event of each group."""
        return greatest(groups, self._start_ms + self._column("span_ms"), count)

    @property
    def _start_ms(self) -> Numbers:
        start: Numbers = self._column("quarter").astype(np.int64) * QUARTER_MS
        start += self._column("start_ms")
        return start
