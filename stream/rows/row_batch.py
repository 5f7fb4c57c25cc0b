"""Rows in columnar form: items beside their envelopes, and the columns that steps fill.

Columnar, because a step that fills a column in one loop costs a fraction of one that is called for
each row. A row has the same index in every list.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from msgspec.structs import astuple

from schemas.envelope import Envelope
from schemas.items import Item
from schemas.kinds import Kind
from stream.rows.facts import Facts
from stream.rows.repeated_column import Numbers, RepeatedColumn, constant_column, distinct_strings

Column = Sequence[Any]

TRANSPOSE_ROWS = 256
"""Items that are transposed into columns together, so that they stay in the CPU cache."""


class RowBatch:
    """Rows of one item kind: items, envelopes, and the columns filled so far."""

    def __init__(
        self,
        kind: Kind,
        items: list[Item],
        envelopes: Sequence[Envelope],
        columns: Mapping[str, Column],
    ) -> None:
        self.kind = kind
        self.items = items
        self.envelopes = envelopes
        """The envelope of each item; one object for all items of an envelope."""
        self.columns = dict(columns)
        """Columns by name; after the pipeline all columns of the table."""
        self.table_columns = frozenset(column.name for column in kind.table.columns)
        self.item_fields = frozenset(kind.item.__struct_fields__)
        self.facts = Facts()
        """Values that one step leaves for later steps."""
        self.envelope_indexes: dict[int, int] = {}
        """Index in its envelope of each item with an `Idempotency-Key`, by row index."""
        self._item_fields: dict[str, Column] = {}
        self._runs: list[Envelope] = []
        self._run_numbers: Numbers = np.zeros(0, np.int32)
        """Index of each row's run."""
        self._senders: list[Envelope] = []
        self._sender_numbers: Numbers = np.zeros(0, np.int32)
        """Index of each row's sender."""

    def __len__(self) -> int:
        return len(self.items)

    def has_column(self, column: str) -> bool:
        """Whether the table has such a column."""
        return column in self.table_columns

    def item_field(self, field: str) -> Column:
        """A field of all items; None for each when the item kind does not have it."""
        if field not in self.item_fields:
            return constant_column(None, len(self.items))
        if not self._item_fields:
            self._item_fields = self._to_columns()
        return self._item_fields[field]

    def distinct_field(self, field: str) -> RepeatedColumn:
        """A field of all items, each value of it once; for strings that rows repeat."""
        column = distinct_strings(self.item_field(field))
        if field in self.item_fields:
            self._item_fields[field] = column
        return column

    def _to_columns(self) -> dict[str, Column]:
        """All fields of the items as columns, transposed in blocks."""
        names = self.kind.item.__struct_fields__
        columns: list[list[Any]] = [[] for _ in names]
        for start in range(0, len(self.items), TRANSPOSE_ROWS):
            rows = zip(*map(astuple, self.items[start : start + TRANSPOSE_ROWS]), strict=True)
            for column, values in zip(columns, rows, strict=True):
                column += values
        return dict(zip(names, columns, strict=True))

    def per_envelope(self, fact: Callable[[Envelope], Any]) -> RepeatedColumn:
        """A fact of each row's envelope, computed once per run of rows of one envelope."""
        return self.repeat_runs(map(fact, self.envelope_runs()))

    def envelope_runs(self) -> list[Envelope]:
        """The envelopes, one for each run of rows of the same envelope."""
        if isinstance(self.envelopes, RepeatedColumn):
            self._runs, self._run_numbers = self.envelopes.values, self.envelopes.numbers
        elif not self._runs:
            lengths: list[int] = []
            last = None
            for envelope in self.envelopes:
                if envelope is last:
                    lengths[-1] += 1
                else:
                    self._runs.append(envelope)
                    lengths.append(1)
                    last = envelope
            numbers = np.arange(len(lengths), dtype=np.int32)
            self._run_numbers = np.repeat(numbers, np.array(lengths, np.int64))
        return self._runs

    def repeat_runs(self, values: Iterable[Any]) -> RepeatedColumn:
        """The value of each of `envelope_runs`, repeated for each of its rows."""
        return RepeatedColumn(values, self._run_numbers)

    def per_sender(self, fact: Callable[[Envelope], Any]) -> RepeatedColumn:
        """A fact of each row's sender, computed once per sender.

        It must follow from the envelope's user agent, headers, `trusted` and `names_visitor` alone.
        """
        return self.repeat_senders(map(fact, self.senders()))

    def senders(self) -> list[Envelope]:
        """One envelope of each sender: of those with equal user agent, headers and kind of sender.

        Where events arrive one by one, there are many more envelopes than browsers.
        """
        if not self._senders:
            numbers: dict[tuple[object, ...], int] = {}
            of_runs = []
            for envelope in self.envelope_runs():
                headers = envelope.headers
                kind = envelope.trusted, envelope.names_visitor
                key = envelope.user_agent, kind, *headers, *headers.values()
                number = numbers.setdefault(key, len(numbers))
                if number == len(self._senders):
                    self._senders.append(envelope)
                of_runs.append(number)
            self._sender_numbers = np.array(of_runs, np.int32)[self._run_numbers]
        return self._senders

    def repeat_senders(self, values: Iterable[Any]) -> RepeatedColumn:
        """The value of each of `senders`, repeated for each of its rows."""
        return RepeatedColumn(values, self._sender_numbers)

    def subset(self, indexes: Sequence[int]) -> Self:
        """Some of the rows, as they were before the pipeline."""
        selected = type(self)(
            self.kind,
            [self.items[i] for i in indexes],
            [self.envelopes[i] for i in indexes],
            {name: [self.columns[name][i] for i in indexes] for name in KEY_COLUMNS},
        )
        if self.envelope_indexes:
            selected.envelope_indexes = {
                index: self.envelope_indexes[i]
                for index, i in enumerate(indexes)
                if i in self.envelope_indexes
            }
        return selected


KEY_COLUMNS = ("kafka_partition", "kafka_offset", "seq")
"""The columns that the decoder fills: the row key within a topic epoch; `seq` is the position."""
