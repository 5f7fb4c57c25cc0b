"""Refuses files of totals: one row for a day of 30 page views is not one event."""

from collections.abc import Iterable

from msgspec import Struct

from deploy.importer.column_mapping import InvalidMapping, normalize_column

COUNT_COLUMNS = frozenset(
    (
        *("pageviews", "page_views", "views", "screen_page_views", "unique_pageviews"),
        *("visitors", "unique_visitors", "users", "total_users", "active_users", "new_users"),
        *("visits", "sessions", "engaged_sessions", "bounces", "bounce_rate", "visit_duration"),
        *("event_count", "total_events", "unique_events", "hits", "conversions", "exit_rate"),
        *("average_session_duration", "views_per_session", "views_per_visit", "views_per_user"),
        *("unique_conversions", "total_conversions", "entrances", "exits"),
        *("nb_visits", "nb_uniq_visitors", "nb_users", "nb_actions", "nb_hits", "sum_visit_length"),
    )
)
"""Columns that count or average over several events, by their normalized names."""

IDENTIFYING_COLUMNS = frozenset(
    (
        *("event_id", "eventid", "insert_id", "uuid", "event_name", "event"),
        *("anonymous_id", "anonymousid", "visitor_id", "user_pseudo_id", "distinct_id"),
        *("session_id", "sessionid", "visit_id", "ga_session_id"),
    )
)
"""Columns of single events: beside them one counting column may be a fact of the visitor."""


class Product(Struct, frozen=True):
    """A product whose exports of totals are recognized, and its export of single events."""

    columns: frozenset[str]
    """All of them are in its totals."""
    name: str
    advice: str


PRODUCTS = (
    Product(
        frozenset(("date", "visitors", "pageviews")),
        "Plausible (imported_*.csv)",
        "Plausible exports no single events",
    ),
    Product(
        frozenset(("date", "visitors", "events")),
        "Plausible (imported_*.csv)",
        "Plausible exports no single events",
    ),
    Product(
        frozenset(("nb_visits",)),
        "Matomo (a report)",
        "export its visits log instead",
    ),
    Product(
        frozenset(("total_users",)),
        "Google Analytics (a report)",
        "export single events with BigQuery instead",
    ),
    Product(
        frozenset(("active_users",)),
        "Google Analytics (a report)",
        "export single events with BigQuery instead",
    ),
)


def refuse_totals(columns: Iterable[str], mapped: Iterable[str] = ()) -> None:
    """InvalidMapping if the columns are those of totals; `mapped` ones belong to events."""
    names = {normalize_column(column): column for column in columns if column not in mapped}
    counts = [column for name, column in names.items() if name in COUNT_COLUMNS]
    if not counts or (len(counts) == 1 and not names.keys().isdisjoint(IDENTIFYING_COLUMNS)):
        return
    product = next((product for product in PRODUCTS if product.columns <= names.keys()), None)
    whose = f"; they look like those of {product.name}: {product.advice}" if product else ""
    raise InvalidMapping(
        f"the file has totals ({', '.join(counts)}), not one event per line, and an import would "
        f"count each line as one event{whose}. Remove these columns if each line is one event"
    )
