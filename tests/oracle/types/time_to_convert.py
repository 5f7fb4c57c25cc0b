"""How long visitors took from their first event to a goal, one by one."""

from tests.oracle.aggregates import ResultRow, grouped, median, percent, rounded
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import ScopedRows
from tests.oracle.stored_rows import unix_ms
from tests.oracle.types.funnel_goals_paths_retention import is_step

DAY_MS = 86_400_000
RANGES = (
    *((0, 0), (1, 1), (2, 2), (3, 3), (4, 7), (8, 14), (15, 30), (31, 60), (61, 90)),
    (91, None),
)


def time_to_convert(scoped: ScopedRows) -> list[ResultRow]:
    """From the first of all events to the first conversion in the time range."""
    goal = scoped.query.options["goal"]
    converting = [row for row in scoped.events if is_step(row, goal)]
    waits = [
        min(row["ms"] for row in rows) - unix_ms(rows[0]["visitor.first_seen"])
        for rows in grouped(converting, lambda row: row["anonymous_id"]).values()
    ]
    result: list[ResultRow] = []
    for low, high in RANGES:
        days = [wait // DAY_MS for wait in waits]
        inside = [n for n in days if low <= n and (high is None or n <= high)]
        name = f"{low}+" if high is None else f"{low}-{high}"
        result.append(
            {
                "days": str(low) if low == high else name,
                "from_days": low,
                "to_days": high,
                "visitors": len(inside),
                "percentage": percent(len(inside), len(waits)),
                "overall_median_seconds": rounded(median(waits) / 1000) if waits else None,
            }
        )
    return result


CONVERSION_TIMES: Oracles = {"time_to_convert": Oracle(time_to_convert)}
