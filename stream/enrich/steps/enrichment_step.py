"""EnrichmentStep: a function that fills columns of a batch, with what it reads and leaves.

A step takes all rows of a batch at once and fills only columns that the table of the kind has. It
is a pure function of the rows and the lookups: a row that is read again from Kafka becomes the
same row again.
"""

from collections.abc import Callable
from inspect import cleandoc
from types import FunctionType
from typing import cast

from msgspec import Struct

from stream.enrich.rules.lookups import Lookups
from stream.rows.row_batch import RowBatch

COLUMN_PREFIX = "columns."

StepFunction = Callable[[RowBatch, Lookups], None]


class EnrichmentStep(Struct, frozen=True):
    """An enrichment step, with the facts that it reads from earlier steps and writes for later.

    Names are fields of `Facts`, or `columns.NAME` for a column that another step fills.
    """

    run: StepFunction
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    repeatable: bool = False
    """Whether it can run again on stored rows, from stored columns alone."""

    @property
    def name(self) -> str:
        return cast(FunctionType, self.run).__name__

    @property
    def description(self) -> str:
        """The columns that it fills, as a line of the documentation."""
        return cleandoc(self.run.__doc__ or "").replace("\n", " ")

    def __call__(self, rows: RowBatch, lookups: Lookups) -> None:
        self.run(rows, lookups)


def enrichment_step(
    *, reads: tuple[str, ...] = (), writes: tuple[str, ...] = (), repeatable: bool = False
) -> Callable[[StepFunction], EnrichmentStep]:
    """The function as an enrichment step; its docstring describes it in the documentation."""

    def declare(run: StepFunction) -> EnrichmentStep:
        return EnrichmentStep(run, reads, writes, repeatable)

    return declare


def columns(*names: str) -> tuple[str, ...]:
    """The names of columns as `EnrichmentStep` takes them."""
    return tuple(COLUMN_PREFIX + name for name in names)
