"""NotPrepared: parts cannot answer a query, and why."""

NO_QUARTER = "no whole quarter of an hour is within the time range"
OTHER_QUARTERS = (
    "the time range begins or ends within a quarter of an hour, and that is in another hour or day "
    "of the result than the next quarter, or the query lists visitors or tells who is new; or its "
    "buckets are no whole quarters, as minutes are not"
)
NO_PARTS = (
    "most rows are in data files without a part (what they add up to): those written today (UTC), "
    "also by an import of earlier days, and those not asked before"
)
NO_VISIT_PARTS = f"of the visits {NO_PARTS}"
TOO_DIVERSE = "the rows without a part have too many different values to be summed up"
COSTLY_FILTERS = "the filters have many conditions on many different texts"
PART_GONE = "a part was removed or damaged; it is made anew"
UNTOLD_VISITS = (
    "parts cannot tell the order of page views within each visit, or which rows meet the filters"
)
UNTOLD_PLACES = (
    "a session, or the rows of a visitor without one, has more than 256 combinations of places and "
    "devices within a quarter of an hour: parts do not tell which of its rows has which"
)
UNTOLD_FACTS = (
    "parts cannot tell the order of page views within each visit, or facts that the query names of "
    "rows without a session"
)
TOO_MANY_KEYS = "the time range has too many quarters of an hour, data files and sessions"
TOO_MANY_GROUPS = "too many rows for so many possible groups, or for so many distinct counts"
SWITCHED_OFF = "prepared results are switched off"
OTHER_ENGINE = "another engine than DuckDB reads the stored rows"


class NotPrepared(Exception):
    """Parts cannot answer a query; the text says why."""
