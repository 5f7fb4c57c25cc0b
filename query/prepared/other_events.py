"""Custom events and outbound clicks of parts, and what groups of them add up to."""

from collections.abc import Sequence

import numpy as np

from query.engine.column_rows import NO_TEXT, Numbers
from query.prepared.group_numbers import distinct_values, greatest, least, sums
from query.prepared.joined_parts import JoinedParts, NumberedTexts
from query.prepared.part import SESSION_COLUMN
from query.prepared.part_tables import OTHER_EVENTS, QUARTER_MS, label

TABLES: Sequence[str] = (OTHER_EVENTS.name,)
COLUMNS = (
    "quarter", "visitor", "session_key", "start_ms", "span_ms", "row_count", "with_properties",
)  # fmt: skip


class OtherEvents:
    """The rows of one of the two kinds."""

    def __init__(self, joined: JoinedParts, *, are_outbound: bool) -> None:
        self._joined = joined
        domains, _ = joined.text_numbers(OTHER_EVENTS.name, label("outbound_domain"))
        self._kept = (domains != NO_TEXT) == are_outbound
        columns = joined.columns(OTHER_EVENTS.name, *COLUMNS)
        self._rows = {name: values[self._kept] for name, values in columns.items()}

    @property
    def row_count(self) -> int:
        """The number of rows, each of which stands for events of a quarter."""
        return len(self._rows["quarter"])

    def buckets(self, buckets: Numbers) -> Numbers:
        """The bucket of each row, from that of each quarter that is asked for."""
        own: Numbers = buckets[self._rows["quarter"].astype(np.int64) - self._joined.first]
        return own

    def texts(self, column: str) -> NumberedTexts:
        """A column of texts."""
        numbers, texts = self._joined.text_numbers(OTHER_EVENTS.name, label(column))
        return numbers[self._kept], texts

    def events(self, groups: Numbers, count: int) -> Numbers:
        """The number of events of each group."""
        return sums(groups, self._rows["row_count"], count)

    def distinct_texts(self, column: str, groups: Numbers, count: int) -> Numbers:
        """The number of texts of each group."""
        numbers, texts = self.texts(column)
        return distinct_values(groups, numbers, count, len(texts))

    def with_properties(self, groups: Numbers, count: int) -> Numbers:
        """The number of events with properties of each group."""
        return sums(groups, self._rows["with_properties"], count)

    def visitors(self, groups: Numbers, count: int) -> Numbers:
        """The number of visitors of each group."""
        return self._joined.distinct(groups, self._rows["visitor"], count)

    def sessions(self, groups: Numbers, count: int) -> Numbers:
        """The number of sessions of each group."""
        return self._joined.distinct(groups, self._rows[SESSION_COLUMN], count, SESSION_COLUMN)

    def first_ms(self, groups: Numbers, count: int) -> Numbers:
        """Unix milliseconds of the first event of each group."""
        return least(groups, self._start_ms, count)

    def last_ms(self, groups: Numbers, count: int) -> Numbers:
        """Unix milliseconds of the last event of each group."""
        return greatest(groups, self._start_ms + self._rows["span_ms"], count)

    @property
    def _start_ms(self) -> Numbers:
        start: Numbers = self._rows["quarter"].astype(np.int64) * QUARTER_MS
        start += self._rows["start_ms"]
        return start
