"""Values of properties of custom events: their counts, their ranks, and what holds of all of them.

`PROPERTY_VALUES` gives for each property its most frequent values, with what several query types
need, and their rows are made of it. Prepared results remember what it gave, so the second of these
types runs no statement.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from msgspec import Struct

from query.engine.engine import Row
from query.sql.row_definitions import IS_CUSTOM
from query.sql.select import Cte
from query.standard.declaration.statement import JoinColumns, Statement, StoredColumns

MAX_VALUE_LENGTH = 512
TOP_VALUES = 10
SAMPLE_VALUES = 5
MAX_FEW_VALUES = 20
"""Most values of a property that has few, and the values of each that `PROPERTY_VALUES` gives."""

VALUE = f"SUBSTR(property_value, 1, {MAX_VALUE_LENGTH})"

# Page views, exits and clicks away carry facts of ours; only the sender's own events are counted.
VALUE_COUNTS = Cte(
    "value_counts",
    f"""
    SELECT name, property_key, {VALUE} AS value_text, COUNT(*) AS occurrences
      FROM entries
     WHERE {IS_CUSTOM}
     GROUP BY name, property_key, {VALUE}
    """,  # noqa: S608
)
"""A row for each value of each property, with its count."""

RANKED_VALUES = Cte(
    "ranked_values",
    """
    SELECT name, property_key, value_text, occurrences,
           SUM(occurrences) OVER (PARTITION BY name, property_key) AS total_occurrences,
           COUNT(*) OVER (PARTITION BY name, property_key)         AS distinct_values,
           ROW_NUMBER() OVER (
               PARTITION BY name, property_key ORDER BY occurrences DESC, value_text
           )                                                       AS row_rank
      FROM value_counts
    """,
)


def all_values(condition: str) -> str:
    """1 when all values meet the condition."""
    return f"MIN(CASE WHEN {condition} THEN 1 ELSE 0 END)"


def classified(more: str = "") -> Cte:
    """A row for each property with what holds of its values; `more` are further columns."""
    return Cte(
        "classified",
        f"""
        SELECT name AS event_name, property_key AS key_name,
               COUNT(*)                              AS distinct_values,
               SUM(occurrences)                      AS total_occurrences,
               MAX(LENGTH(value_text))               AS longest_value,
               SUM(LENGTH(value_text) * occurrences) AS avg_length_sum,
               SUM(occurrences)                      AS avg_length_count,
               {all_values("TRY_CAST(value_text AS DECIMAL(38, 10)) IS NOT NULL")} AS is_numeric,
               {all_values("LOWER(value_text) IN ('true', 'false')")}              AS is_boolean,
               {all_values("value_text LIKE '____-__-__%'")}                       AS is_date_like,
               {all_values("value_text LIKE 'http://%' OR value_text LIKE 'https://%'")}
                                                                                   AS is_url_like
               {more}
          FROM ranked_values
         GROUP BY name, property_key
        """,  # noqa: S608
    )


class RankedValue(Struct, frozen=True):
    """One of the most frequent values of a property, and what holds of all of its values."""

    event: str
    key: str
    rank: int
    text: str
    count: int
    distinct: int
    total: int
    longest: int
    length_sum: int
    is_numeric: int
    is_boolean: int
    is_date_like: int
    is_url_like: int


PROPERTY_VALUES = Statement(
    ctes=(
        VALUE_COUNTS,
        RANKED_VALUES,
        classified(),
        Cte(
            "frequent_values",
            f"""
            SELECT name AS ranked_event, property_key AS ranked_key,
                   row_rank, value_text, occurrences
              FROM ranked_values
             WHERE row_rank <= {MAX_FEW_VALUES}
            """,  # noqa: S608
        ),
    ),
    sql="""
        SELECT event_name, key_name, row_rank, value_text, occurrences,
               distinct_values, total_occurrences, longest_value, avg_length_sum,
               is_numeric, is_boolean, is_date_like, is_url_like
          FROM classified
          JOIN frequent_values
            ON ranked_event = event_name AND ranked_key = key_name
         ORDER BY event_name, key_name, row_rank
    """,
)
"""A row for each `RankedValue`."""

Properties = Mapping[str, Sequence[Sequence[RankedValue]]]
"""By event the values of each property, by rank."""


def properties(stored: Sequence[Row]) -> Properties:
    """The rows of `PROPERTY_VALUES` by event and property, both in their order."""
    found: dict[tuple[str, str], list[RankedValue]] = defaultdict(list)
    for row in stored:
        found[row[0], row[1]].append(RankedValue(*row))
    by_event: dict[str, list[list[RankedValue]]] = defaultdict(list)
    for (event, _), values in found.items():
        by_event[event].append(values)
    return by_event


def samples(values: Sequence[RankedValue]) -> Sequence[str | None]:
    """The first of the most frequent values of a property; None where it has fewer."""
    texts = [each.text for each in values[:SAMPLE_VALUES]]
    return [*texts, *[None] * (SAMPLE_VALUES - len(texts))]


def top_values(_: Sequence[Row], stored: Sequence[Row]) -> list[Row]:
    """The rows of `custom_events_property_top_values`."""
    return [
        (v.event, v.key, v.text, v.count, v.total, v.count, v.total, v.rank)
        for v in _ranked(stored)
        if v.rank <= TOP_VALUES
    ]


def distribution(_: Sequence[Row], stored: Sequence[Row]) -> list[Row]:
    """The rows of `custom_events_property_distribution`."""
    return [
        (v.event, v.key, v.text, v.count, v.total, v.count, v.total, v.distinct)
        for v in _ranked(stored)
        if v.distinct <= MAX_FEW_VALUES
    ]


def _ranked(stored: Sequence[Row]) -> Iterator[RankedValue]:
    return chain.from_iterable(chain.from_iterable(properties(stored).values()))


def discovery(events: Sequence[Row], stored: Sequence[Row]) -> list[Row]:
    """The rows of `custom_events_discovery`, from custom events by name and from their values."""
    of_event = properties(stored)
    rows: list[Row] = []
    for name, *counts in (row[:4] for row in events):
        of_keys = [(v[0].key, v[0].distinct, *samples(v)) for v in of_event.get(name, ())]
        rows += [(name, *counts, *each) for each in of_keys or [("", 0, *samples(()))]]
    return sorted(rows, key=lambda row: (-row[1], -row[5], row[0], row[4]))


def of_values(join: JoinColumns) -> StoredColumns:
    """Rows from custom events by name and from the most frequent values of their properties."""
    return StoredColumns(statement=PROPERTY_VALUES, join=join)
