"""Tables of rollups with measured values: each by itself, as exact percentiles need all of them.

A row is one measurement, with what query types group by.
"""

from msgspec import Struct

from query.prepared.rollup_tables import QUARTER, VISITOR, RollupTable, label, labelled
from query.sql.row_definitions import IS_TIMED

VITAL_LABELS = (
    "metric_name",
    "path",
    "browser_name",
    "os_name",
    "device_type",
    "country",
    "region",
    "city",
)
VITAL_SCALE = 10_000
"""Values of vitals have four decimals."""

VITAL_VALUES = RollupTable(
    "vital_values",
    f"""
    SELECT {QUARTER} AS quarter,
           {VISITOR} AS visitor,
           {labelled(VITAL_LABELS)},
           CAST(CAST(metric_value AS DECIMAL(38, 4)) * {VITAL_SCALE} AS BIGINT) AS measured
      FROM scoped
    """,  # noqa: S608
    tuple(map(label, VITAL_LABELS)),
)

LOAD_LABELS = ("path", "browser_name", "os_name", "country", "region")
LATER_TIMINGS = ("ttfb", "dom_ready_time", "render_time")
"""Timings that a page view with a load time may be without."""


def plus_one(metric: str) -> str:
    """The name of the column with the values of a metric plus one; 0 is in place of NULL."""
    return f"{metric}_plus_one"


_TIMINGS = ", ".join(f"COALESCE({name} + 1, 0) AS {plus_one(name)}" for name in LATER_TIMINGS)

PAGE_LOADS = RollupTable(
    "page_loads",
    f"""
    SELECT {QUARTER} AS quarter,
           {VISITOR} AS visitor,
           {labelled(LOAD_LABELS)},
           load_time + 1 AS {plus_one("load_time")},
           {_TIMINGS}
      FROM scoped
     WHERE {IS_TIMED}
    """,  # noqa: S608
    tuple(map(label, LOAD_LABELS)),
)
"""Page views that carry load timings."""


class Measured(Struct, frozen=True):
    """A table of measurements: where their values are."""

    table: str
    labels: tuple[str, ...]
    scale: int = 1
    """By which stored values are multiplied, so that they are whole numbers."""
    metrics: tuple[str, ...] = ()
    """Those with a column each; without any, each row is of one metric."""


VITALS = Measured(VITAL_VALUES.name, VITAL_LABELS, VITAL_SCALE)
LOADS = Measured(PAGE_LOADS.name, LOAD_LABELS, metrics=("load_time", *LATER_TIMINGS))
