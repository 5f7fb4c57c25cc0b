"""A report whose content a test writes down."""

from datetime import timedelta
from typing import Any

from query.metrics.metric import Unit
from query.reports.content import Content, Figure, Point, Row, Table
from query.reports.schedule import Schedule, last_period, period_before
from tests.query.query_service import NOW

ZONE = "Europe/Berlin"
HOSTILE = 'https://evil.example/?<script>alert(1)</script>&x="y"\u202e'


def a_content(schedule: Schedule = Schedule.WEEKLY, **more: Any) -> Content:
    """The last period before Monday, 30 November 2026; visitors are 10, 20, 30 and so on."""
    period = last_period(schedule, ZONE, NOW)
    if schedule is Schedule.DAILY:
        labels = [f"{period.first} {hour:02}:00:00" for hour in range(24)]
    else:
        days = (period.last - period.first).days + 1
        labels = [str(period.first + timedelta(days=day)) for day in range(days)]
    values: dict[str, Any] = {
        "name": "Weekly numbers",
        "website": "shop.example",
        "zone": ZONE,
        "schedule": schedule,
        "period": period,
        "before": period_before(schedule, ZONE, period),
        "figures": (
            Figure("Visitors", 1234, 1000, Unit.COUNT),
            Figure("Visits", 1500, 1500, Unit.COUNT),
            Figure("Page views", 4000, 5000, Unit.COUNT),
            Figure("Bounce rate", 43.25, 45.35, Unit.PERCENT, less_is_better=True),
            Figure("Visit duration", 92.4, None, Unit.SECONDS),
        ),
        "points": tuple(Point(label, 10 * (i + 1), 5 * (i + 1)) for i, label in enumerate(labels)),
        "tables": (
            Table(
                "Top pages",
                ("Page", "Page views", "Visitors"),
                (
                    Row("/", (3000, 900), 2000),
                    Row(HOSTILE, (700, 300), 0),
                    Row("/команда/日本語", (300, 34), 300),
                ),
                (Unit.COUNT, Unit.COUNT),
            ),
            Table("By browser", ("browser_name", "errors"), (Row("Firefox", (3,)),)),
            Table("Old", (), problem="This exploration was deleted."),
        ),
    }
    return Content(**{**values, **more})
