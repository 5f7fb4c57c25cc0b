"""Visitors by their visits, counted one by one."""

from collections import Counter

from tests.oracle.aggregates import ResultRow, percent
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.query import ScopedRows
from tests.oracle.sessions import sessions

RANGES = (
    *((number, number) for number in range(1, 11)),
    *((11, 15), (16, 25), (26, 50), (51, 100)),
    (101, None),
)


def visit_frequency(scoped: ScopedRows) -> list[ResultRow]:
    """A visit is of the visitor of its first page view."""
    owners = [session.views[0]["anonymous_id"] for session in sessions(scoped.visit_events)]
    visits = Counter(owner for owner in owners if owner is not None)
    result: list[ResultRow] = []
    for low, high in RANGES:
        inside = [n for n in visits.values() if low <= n and (high is None or n <= high)]
        name = f"{low}+" if high is None else f"{low}-{high}"
        result.append(
            {
                "visits": str(low) if low == high else name,
                "from_visits": low,
                "to_visits": high,
                "visitors": len(inside),
                "percentage": percent(len(inside), len(visits)),
                "visits_total": sum(inside),
            }
        )
    return result


FREQUENCY: Oracles = {"visit_frequency": Oracle(visit_frequency)}
