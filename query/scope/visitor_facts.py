"""Facts of a visitor: when it was first and last seen, and whether that is in the time range.

They are of all events of the visitor ever stored, whatever the time range and the filters, and hold
for every row of the visitor, in every table that has visitors. The CTE `visitor_times` has them.
"""

from collections.abc import Mapping

from msgspec import Struct

from query.request.filters import FilterField
from query.sql.select import Join
from schemas.tables import ColumnType

VISITOR_PREFIX = "visitor."
VISITOR_TIMES = "visitor_times"
"""The relation with a row for each visitor."""
VISITOR_JOIN = Join(VISITOR_TIMES, f"{VISITOR_TIMES}.seen_visitor = stored.visitor_hash")


class VisitorFact(Struct, frozen=True):
    """One fact: its name, its column of rows, and its expression over a row with its times."""

    name: str
    column: str
    type: ColumnType
    description: str
    sql: str

    @property
    def field(self) -> str:
        """Its name in requests."""
        return VISITOR_PREFIX + self.name

    @property
    def in_ms(self) -> bool:
        """Whether it is an instant, in Unix milliseconds."""
        return self.type is ColumnType.TIMESTAMP


FIRST_SEEN = VisitorFact(
    "first_seen",
    "visitor_first_seen",
    ColumnType.TIMESTAMP,
    "time of the first event of the visitor, of all that are stored",
    f"{VISITOR_TIMES}.visitor_first_seen",
)
LAST_SEEN = VisitorFact(
    "last_seen",
    "visitor_last_seen",
    ColumnType.TIMESTAMP,
    "time of the last event of the visitor, of all that are stored",
    f"{VISITOR_TIMES}.visitor_last_seen",
)
IS_NEW = VisitorFact(
    "is_new",
    "visitor_is_new",
    ColumnType.BOOLEAN,
    "whether the visitor has no event before the time range",
    # A visitor without any event, who has error reports alone, is new.
    f"CASE WHEN visitor_hash IS NOT NULL THEN COALESCE({VISITOR_TIMES}.visitor_is_new, TRUE) END",
)
FIRST_BUCKET = "visitor_first_bucket"
"""The bucket of the first event; events before the time range may have that of its first month."""
VISITOR_FACTS = (IS_NEW, FIRST_SEEN, LAST_SEEN)

VISITOR_FACT_COLUMNS = {fact.column: fact for fact in VISITOR_FACTS}

VISITOR_FACT_FIELDS: Mapping[str, FilterField] = {
    fact.field: FilterField(fact.type, fact.sql, fact.in_ms) for fact in VISITOR_FACTS
}
"""What filters may name."""


def reads_visitor_facts(names: frozenset[str]) -> bool:
    """Whether a relation with these names of columns needs facts of visitors."""
    return FIRST_BUCKET in names or not names.isdisjoint(VISITOR_FACT_COLUMNS)


def names_visitor_facts(fields: set[str]) -> bool:
    """Whether one of these names of filter fields is a fact of the visitor."""
    return not VISITOR_FACT_FIELDS.keys().isdisjoint(fields)
