"""NotPrepared: why a query reads the stored rows. Callers see these sentences."""

NO_QUARTER = "the time range has no whole quarter-hour"
OTHER_QUARTERS = (
    "the time range begins or ends within a quarter-hour that is in another hour or day of the "
    "result than the next one, or the query lists visitors or counts new ones; or its buckets are "
    "minutes"
)
NO_ROLLUPS = (
    "most rows are in data files without a rollup: files of today (UTC), also of an import of "
    "earlier days, and files that no query has read before"
)
NO_VISIT_ROLLUPS = f"for facts of the visit, {NO_ROLLUPS}"
TOO_DIVERSE = "the rows without a rollup have too many different values to be aggregated"
COSTLY_FILTERS = "the filters have too many conditions for the different values of their fields"
HIDDEN_ROWS = "an erasure is pending: its rows are hidden, and rollups still have them"
ROLLUP_GONE = "a rollup was removed or damaged; it is built again in the background"
AMBIGUOUS_VISIT_ORDER = (
    "not answerable from rollups: page views of one visit share a timestamp, or the filters name "
    "visit facts of events without a session"
)
TOO_MANY_ATTRIBUTES = (
    "not answerable from rollups: a session, or a visitor without one, has more than 256 "
    "combinations of country, device and the like within a quarter-hour"
)
AMBIGUOUS_VISIT_FACTS = (
    "not answerable from rollups: page views of one visit share a timestamp, or the query needs "
    "visit facts of events without a session"
)
TOO_MANY_KEYS = "the time range has too many quarter-hours, data files and sessions"
TOO_MANY_GROUPS = "the query has too many rows for its number of possible groups or values"
SWITCHED_OFF = "prepared results are switched off"
OTHER_ENGINE = "the stored rows are read by another engine than DuckDB"


class NotPrepared(Exception):
    """Rollups do not answer a query; the text says why."""
