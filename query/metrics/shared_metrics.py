"""What a metrics query of a shared dashboard may name; its fixed filters are added elsewhere."""

from collections.abc import Sequence

from query.metrics.dimensions import TIME_PREFIX
from query.metrics.terms import MetricTerm
from query.standard.shared_queries import check_shared_field, check_shared_steps
from query.standard.sql.steps import GoalStep
from schemas.errors import Forbidden


def check_shared_metrics(
    metrics: Sequence[str | MetricTerm], dimensions: Sequence[str], goals: Sequence[GoalStep]
) -> None:
    """Forbidden when a metrics query asks for more than a shared dashboard shows."""
    for dimension in dimensions:
        if not dimension.startswith(TIME_PREFIX):
            check_shared_field(dimension)
    if any(not isinstance(metric, str) for metric in metrics):
        raise Forbidden("A shared dashboard takes metrics by their names only")
    check_shared_steps(goals)
