"""Rows on their way down the line: items beside their envelopes, and columns being filled.

Columnar, because a step that fills a column in one loop costs a fraction of one that is called for
each row. A row's index is the same in every list.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, groupby, repeat
from typing import Any, Self, TypeVar

from msgspec.structs import astuple

from schemas.envelope import Envelope
from schemas.items import Item
from schemas.kinds import Kind
from stream.rows.facts import Facts

Fact = TypeVar("Fact")
Column = list[Any]

TRANSPOSE_ROWS = 256
"""Items that are turned into columns together."""


class RowBatch:
    """Items of one kind and what is known about them so far."""

    def __init__(
        self,
        kind: Kind,
        items: list[Item],
        envelopes: list[Envelope],
        columns: dict[str, Column],
    ) -> None:
        self.kind = kind
        self.items = items
        self.envelopes = envelopes
        """Of each item; one object for all items of an envelope."""
        self.columns = columns
        """By column name; the table's, once the line has been walked."""
        self.table_columns = frozenset(column.name for column in kind.table.columns)
        self.item_fields = frozenset(kind.item.__struct_fields__)
        self.facts = Facts()
        self.first_seq: dict[int, int] = {}
        """Of envelopes with an `Idempotency-Key`, by `id`: the position of their first item."""
        self._item_fields: dict[str, Column] = {}
        self._runs: list[Envelope] = []
        self._lengths: list[int] = []

    def __len__(self) -> int:
        return len(self.items)

    def has_column(self, column: str) -> bool:
        """Whether the table has such a column."""
        return column in self.table_columns

    def item_field(self, field: str) -> Column:
        """What the items say; nothing for a field that this kind does not have."""
        if field not in self.item_fields:
            return [None] * len(self.items)
        if not self._item_fields:
            self._item_fields = self._to_columns()
        return self._item_fields[field]

    def _to_columns(self) -> dict[str, Column]:
        """All fields of the items as columns; by blocks that stay near the processor."""
        names = self.kind.item.__struct_fields__
        columns: list[Column] = [[] for _ in names]
        for start in range(0, len(self.items), TRANSPOSE_ROWS):
            rows = zip(*map(astuple, self.items[start : start + TRANSPOSE_ROWS]), strict=True)
            for column, values in zip(columns, rows, strict=True):
                column += values
        return dict(zip(names, columns, strict=True))

    def per_envelope(self, fact: Callable[[Envelope], Fact]) -> list[Fact]:
        """A fact of each row's envelope, asked once for neighbours of one envelope."""
        return self.repeat_runs(map(fact, self.envelope_runs()))

    def envelope_runs(self) -> list[Envelope]:
        """The envelopes, neighbours of one envelope counted as one."""
        if not self._runs:
            runs = [list(run) for _, run in groupby(self.envelopes, id)]
            self._runs = [run[0] for run in runs]
            self._lengths = list(map(len, runs))
        return self._runs

    def repeat_runs(self, values: Iterable[Fact]) -> list[Fact]:
        """What is told of each run, for each of its rows."""
        return list(chain.from_iterable(map(repeat, values, self._lengths)))

    def subset(self, indexes: Sequence[int]) -> Self:
        """Some of the rows, as they were before the line."""
        selected = type(self)(
            self.kind,
            [self.items[i] for i in indexes],
            [self.envelopes[i] for i in indexes],
            {name: [self.columns[name][i] for i in indexes] for name in ROW_IDENTITY},
        )
        selected.first_seq = self.first_seq
        return selected


ROW_IDENTITY = ("kafka_partition", "kafka_offset", "seq")
"""The columns that opening fills: a row's identity."""
