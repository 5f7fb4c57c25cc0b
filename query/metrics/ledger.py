"""Metrics of the ledger: what became of accepted items, by UTC hour of receipt."""

from query.metrics.metric import Part, Source, count


def _sum(name: str, column: str) -> Part:
    return Part(name, Source.LEDGER, f"CAST(SUM({column}) AS BIGINT)")


LEDGER_METRICS = (
    count(
        _sum("received", "received"),
        "accepted items, by UTC hour of receipt: those stored, duplicates, quarantined and dropped",
    ),
    count(_sum("stored", "stored"), "accepted items that are stored, in the tables of all kinds"),
    count(_sum("duplicates", "duplicate"), "accepted items that were stored before"),
    count(
        _sum("quarantined", "quarantined"),
        "accepted items that could not be stored; the table `quarantine` has the reason of each",
    ),
    count(_sum("dropped", "dropped"), "accepted items that were dropped on purpose"),
)
LEDGER_METRIC_NAMES = frozenset(metric.name for metric in LEDGER_METRICS)
LEDGER_FIELDS = ("topic", "drop_reason")
"""What they may be grouped and filtered by, besides time."""
