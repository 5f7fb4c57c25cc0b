"""What a metrics query of a shared dashboard may name; its fixed filters are added elsewhere."""

from typing import TYPE_CHECKING

from query.metrics.dimensions import TIME_PREFIX
from query.standard.shared_queries import (
    check_shared_body,
    check_shared_field,
    check_shared_steps,
)
from schemas.errors import Forbidden

if TYPE_CHECKING:
    from query.metrics.request import MetricsRequest


def check_shared_metrics(body: "MetricsRequest") -> None:
    """Forbidden when a metrics query asks for more than a shared dashboard shows."""
    check_shared_body(body.filters, body.include_bots)
    for dimension in body.dimensions:
        if not dimension.startswith(TIME_PREFIX):
            check_shared_field(dimension)
    for metric in body.metrics:
        if not isinstance(metric, str):
            raise Forbidden("A shared dashboard takes metrics by their names only")
    check_shared_steps(body.goals)
