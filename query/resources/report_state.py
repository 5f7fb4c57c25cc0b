"""When a report is sent, which its responses show besides."""

from typing import Annotated

from msgspec import Meta, Struct

from query.reports.schedule import Schedule, next_due_ms
from schemas.registry import Report
from schemas.runtime.clock import format_instant


class ReportState(Struct, rename="camel"):
    """When it was sent, and when it will be."""

    next_at: Annotated[
        str | None, Meta(description="when it is sent next; null while it is paused")
    ]
    last_at: Annotated[str | None, Meta(description="when it was sent last")]


def report_state(report: Report, zone: str, last_ms: int | None, now_ms: int) -> ReportState:
    """The state of a report as responses show it."""
    due = None
    if not report.paused:
        due = next_due_ms(Schedule(report.schedule), report.hour, zone, now_ms)
    return ReportState(next_at=format_instant(due), last_at=format_instant(last_ms))
