"""SQL definitions over the rows of a table: page view, custom event, row order, first value."""

from schemas.tables.sessions import ENDS_BOUNCE as ENDS_BOUNCE
from schemas.tables.sessions import IS_CUSTOM as IS_CUSTOM
from schemas.tables.sessions import IS_OUTBOUND as IS_OUTBOUND
from schemas.tables.sessions import IS_PAGE_VIEW
from schemas.tables.sessions import PAGE_EXIT as PAGE_EXIT

PAGE_VIEW = IS_PAGE_VIEW
PAGE_VIEW_NAMES = ("screen_view", "pageview")
"""Those of PAGE_VIEW."""
IS_TIMED = f"({PAGE_VIEW} OR name = '{PAGE_EXIT}') AND load_time > 0"
"""A row with load timings: the page view or its exit carries them, whichever the tracker does."""
EVENT_KIND = (
    f"CASE WHEN {PAGE_VIEW} THEN 'page_view' WHEN name = '{PAGE_EXIT}' THEN 'page_exit'"
    f" WHEN {IS_OUTBOUND} THEN 'outbound' ELSE 'event' END"
)
"""What an event is, whatever its sender called it."""
ROW_ORDER = "ms, epoch, kafka_partition, kafka_offset, seq"
"""The total order of rows."""
NEWEST_FIRST = ", ".join(f"{part} DESC" for part in ROW_ORDER.split(", "))
ROW_ORDER_NUMBER = (
    "(((CAST(ms * 256 + epoch % 256 AS INT128) * 65536 + kafka_partition) * 1099511627776"
    " + kafka_offset) * 1048576 + seq)"
)
"""The row order as one number: 42 bits of time, then 8, 16, 40 and 20 of epoch and row key."""
LAST_ROW_ORDER_NUMBER = (
    "(((CAST(UNIX_MS(last_ts) * 256 + COALESCE(last_epoch, 0) % 256 AS INT128) * 65536"
    " + last_kafka_partition) * 1099511627776 + last_kafka_offset) * 1048576 + last_seq)"
)
"""The same of the last page view of a prepared visit."""


def first_value(value: str) -> str:
    """The value, NULL or not, of the first row of a group.

    One pass that keeps a value per group: a quarter of the time of a window function, which does
    not fit into memory at millions of rows.
    """
    return f"FIRST_BY({value}, {ROW_ORDER_NUMBER})"


def last_value(value: str) -> str:
    """The value, NULL or not, of the last row of a group."""
    return f"LAST_BY({value}, {ROW_ORDER_NUMBER})"
