"""Alerts over known rows: each fires once, with the right number, when its data is there."""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from query.notify.rules import Alerts
from schemas.http.limit_counts import COLLECTOR, Counted, MachineCounts, bucket_name, counts_path
from schemas.plans import Group
from schemas.registry import Erasure, Selector
from schemas.registry.notices import AlertState
from schemas.runtime.settings import Settings
from tests.query.lake import Stored, a_view, a_vital, an_error
from tests.query.notify.times import Times, at_times, ms
from tests.query.query_service import NOW, InProcessService, reused, start_service

MINUTE, HOUR = 60_000, 3_600_000
OPS = ["ops@shop.example"]
VIEWS = {"metrics": ["page_views"]}
COUNT = {"selects": [{"field": "*", "aggregate": "count", "alias": "n"}]}


def day(text: str) -> str:
    """A time of 30 November."""
    return f"2026-11-30T{text}:00Z"


def known_rows() -> list[Stored]:
    """30 November from 1 to 2: 2 page views, 1 error; to 3: 6 and 3; to 4: 1 page view.

    Before, on each day from 2 to 3: 1 page view. The rival has many of everything from 2 to 3.
    """
    of_day = {1: 2, 2: 6, 3: 1}
    earlier = [a_view("/", at=f"2026-11-{i:02}T02:30:00Z") for i in range(10, 30)]
    views = [
        a_view("/", at=day(f"0{hour}:{10 + i}")) for hour, n in of_day.items() for i in range(n)
    ]
    errors = [an_error("boom", at=day("01:30")), an_error("boom", at=day("02:10"))]
    errors += [an_error("bang", at=day("02:20")), an_error("bang", at=day("02:30"))]
    rival: list[Stored] = []
    for i in range(40):
        rival.append(a_view("/", website="rival", at=day(f"02:{i:02}")))
        rival.append(an_error(f"e{i}", website="rival", at=day(f"02:{i:02}")))
    vital = a_vital("LCP", 1250.5, at=day("02:15"))
    return [*earlier, *views, *errors, vital, *rival]


class Checked(Struct):
    """A service whose alerts are checked at given times."""

    service: InProcessService
    runner: asyncio.Runner
    times: Times
    alerts: Alerts

    def save(self, condition: str, website: str = "shop", **body: Any) -> str:
        """The id of a new alert."""
        named = {"name": condition, "recipients": OPS, **body, "condition": condition}
        reply = self.service.ask("POST", "/v1/alerts", named, key="acme-admin", website_id=website)
        assert reply.status == 201, reply.json
        return str(reply.json["data"]["id"])

    def change(self, alert_id: str, **changes: Any) -> None:
        path = f"/v1/alerts/{alert_id}"
        reply = self.service.ask("PATCH", path, changes, key="acme-admin")
        assert reply.status == 200, reply.json

    def check(self, stored_until: str, now: str | None = None) -> int:
        """Check once everything that was received before an instant is stored; how many."""
        self.times.move(stored_until, now)
        return self.runner.run(self.alerts.check_due())

    def told(self, alert_id: str) -> list[tuple[str, float | None, str]]:
        """Event, number and sentence of each notice, oldest first."""
        newest = self.service.store.notices().history(99, alert_id=alert_id)
        ordered = sorted((notice for notice, _ in newest), key=lambda notice: notice.start_at)
        return [
            (notice.event.value, notice.content["value"], notice.content["text"])
            for notice in ordered
        ]

    def due(self, alert_id: str) -> list[tuple[str, int | None]]:
        """Recipients, and when each is told."""
        [(_, deliveries)] = self.service.store.notices().history(99, alert_id=alert_id)
        return [(one.target, one.due_at) for one in deliveries]

    def state(self, alert_id: str) -> AlertState:
        return self.service.store.notices().alert_states([alert_id])[alert_id]


def checked(service: InProcessService, runner: asyncio.Runner) -> Checked:
    """The service with a clock and watermarks of the test."""
    dependencies, times = at_times(service)
    return Checked(service, runner, times, Alerts(dependencies, service.store.notices()))


@reused
def service(tmp_path: Path) -> InProcessService:
    service = start_service(tmp_path)
    service.holds(*known_rows())
    return service


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """Locks of a service belong to one event loop."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def shop(service: InProcessService, runner: asyncio.Runner) -> Checked:
    return checked(service, runner)


TO_3, TO_4 = "from 02:00 to 03:00 on 30 November", "from 03:00 to 04:00 on 30 November"
CONDITIONS: Mapping[str, tuple[dict[str, Any], list[tuple[str, float | None, str]]]] = {
    "above, metrics": (
        {"condition": "above", "threshold": 5, "metricsQuery": VIEWS},
        [
            ("fired", 6, f"6 page views {TO_3}; the bound is 5"),
            ("recovered", 1, f"1 page views {TO_4}; the bound is 5"),
        ],
    ),
    "above, custom": (
        {
            "condition": "above",
            "threshold": 2,
            "customQuery": {"query": {"table": "errors", **COUNT}},
        },
        [
            ("fired", 3, f"3 n {TO_3}; the bound is 2"),
            ("recovered", 0, f"0 n {TO_4}; the bound is 2"),
        ],
    ),
    "above, standard": (
        {
            "condition": "above",
            "threshold": 5,
            "standardQuery": {"parameters": ["summary"]},
            "column": "pageviews",
        },
        [
            ("fired", 6, f"6 pageviews {TO_3}; the bound is 5"),
            ("recovered", 1, f"1 pageviews {TO_4}; the bound is 5"),
        ],
    ),
    "below, standard, the first number that is no step": (
        {
            "condition": "below",
            "threshold": 1,
            "standardQuery": {
                "parameters": [{"name": "funnel", "steps": [{"path": "/none"}, {"path": "/"}]}]
            },
        },
        [("fired", 0, f"0 visitors {TO_3}; the bound is 1")],
    ),
    "dates have no effect": (
        {
            "condition": "above",
            "threshold": 5,
            "standardQuery": {
                "parameters": [
                    {"name": "summary", "start_date": "2026-11-01", "end_date": "2026-11-02"}
                ],
                "startDate": "2026-11-01",
                "endDate": "2026-11-02",
            },
            "column": "pageviews",
        },
        [
            ("fired", 6, f"6 pageviews {TO_3}; the bound is 5"),
            ("recovered", 1, f"1 pageviews {TO_4}; the bound is 5"),
        ],
    ),
    "a column, decimal": (
        {
            "condition": "above",
            "threshold": 1000,
            "customQuery": {
                "query": {
                    "table": "vitals",
                    "selects": [
                        {"field": "*", "aggregate": "count", "alias": "n"},
                        {"field": "metric_value", "aggregate": "sum", "alias": "total"},
                    ],
                }
            },
            "column": "total",
        },
        [("fired", 1250.5, f"1,250 total {TO_3}; the bound is 1,000")],
    ),
    "below": (
        {"condition": "below", "threshold": 2, "metricsQuery": VIEWS},
        [("fired", 1, f"1 page views {TO_4}; the bound is 2")],
    ),
    "rises": (
        {"condition": "rises", "threshold": 200, "metricsQuery": VIEWS},
        [
            ("fired", 6, f"6 page views {TO_3}; 2 before, +200 %"),
            ("recovered", 1, f"1 page views {TO_4}; 6 before, -83 %"),
        ],
    ),
    "rises against a week before": (
        {"condition": "rises", "against": "week", "threshold": 500, "metricsQuery": VIEWS},
        [
            ("fired", 6, f"6 page views {TO_3}; 1 a week earlier, +500 %"),
        ],
    ),
    "falls": (
        {"condition": "falls", "metricsQuery": VIEWS},
        [("fired", 1, f"1 page views {TO_4}; 6 before, -83 %")],
    ),
    "spike": (
        {"condition": "spike", "metricsQuery": VIEWS},
        [("fired", 6, f"6 page views {TO_3}; 0 to 4 is usual")],
    ),
    "drop": ({"condition": "drop", "metricsQuery": VIEWS}, []),
    "nothing": (
        {
            "condition": "nothing",
            "metricsQuery": {"metrics": ["errors"]},
        },
        [("fired", 0, f"0 errors {TO_4}; nothing arrived")],
    ),
    "nothing at all": ({"condition": "nothing"}, []),
    "new, metrics": (
        {
            "condition": "new",
            "metricsQuery": {"metrics": ["errors"], "dimensions": ["message"]},
        },
        [("fired", 1, f"1 new {TO_3}: bang")],
    ),
    "new, custom": (
        {
            "condition": "new",
            "customQuery": {"query": {"table": "errors", "groupBy": ["message"], **COUNT}},
        },
        [("fired", 1, f"1 new {TO_3}: bang")],
    ),
    "new, standard": (
        {"condition": "new", "standardQuery": {"parameters": ["error_types"]}},
        [("fired", 1, f"1 new {TO_3}: bang")],
    ),
}


def test_each_condition_fires_once_with_its_number(shop: Checked) -> None:
    ids = {name: shop.save(**body, name=name) for name, (body, _) in CONDITIONS.items()}

    for minute in range(2, 12):
        shop.check(f"2026-11-30T03:{minute:02}:00Z")
    shop.check(day("04:01"))
    shop.check(day("04:02"))

    states = {name: shop.state(alert_id).problem for name, alert_id in ids.items()}
    young = "Too little history: 0 of 5 earlier buckets"  # of the hour from 3 to 4
    assert {name: problem for name, problem in states.items() if problem} == {
        "spike": young,
        "drop": young,
    }
    assert {name: shop.told(alert_id) for name, alert_id in ids.items()} == {
        name: notices for name, (_, notices) in CONDITIONS.items()
    }


def test_an_alert_is_checked_when_all_events_of_its_bucket_are_stored(shop: Checked) -> None:
    alert_id = shop.save("above", threshold=5, metricsQuery=VIEWS)

    for stored_until in ("2026-11-30T02:59:59Z", "2026-11-30T03:00:59.999Z"):
        shop.check(stored_until, now=day("05:00"))  # a minute after its end is the grace
        assert shop.told(alert_id) == []

    shop.check("2026-11-30T03:01:00Z", now=day("05:00"))
    assert [event for event, *_ in shop.told(alert_id)] == ["fired"]
    assert shop.state(alert_id) == AlertState(alert_id, ms(day("03:00")), ms(day("02:00")), 6)


def test_without_a_watermark_nothing_is_checked(shop: Checked) -> None:
    shop.save("above", threshold=5, metricsQuery=VIEWS)

    assert shop.runner.run(shop.alerts.check_due()) == 0


def test_a_checked_bucket_is_not_looked_at_again(shop: Checked) -> None:
    shop.save("above", threshold=5, metricsQuery=VIEWS)

    assert [shop.check(day(text)) for text in ("03:01", "03:02", "04:00", "04:01", "04:02")] == [
        1,
        0,
        0,
        1,
        0,
    ]


def test_another_process_does_not_tell_it_again(
    shop: Checked, service: InProcessService, runner: asyncio.Runner
) -> None:
    alert_id = shop.save("above", threshold=5, metricsQuery=VIEWS)
    shop.check(day("03:01"))
    other = checked(service, runner)

    other.check(day("03:02"))
    other.check(day("04:02"))
    shop.check(day("04:03"))

    assert [event for event, *_ in shop.told(alert_id)] == ["fired", "recovered"]


def test_after_a_pause_the_newest_bucket_is_checked(shop: Checked) -> None:
    alert_id = shop.save("above", threshold=0, metricsQuery=VIEWS)

    shop.check(day("02:01"))
    shop.check(day("04:10"))

    assert shop.state(alert_id) == AlertState(alert_id, ms(day("04:00")), ms(day("01:00")), 1)
    assert shop.told(alert_id) == [
        ("fired", 2, "2 page views from 01:00 to 02:00 on 30 November; the bound is 0")
    ]


def test_what_holds_on_is_told_once(shop: Checked) -> None:
    alert_id = shop.save("above", threshold=0, metricsQuery=VIEWS)

    for text in ("02:01", "03:01", "04:01"):
        shop.check(day(text))

    assert [event for event, *_ in shop.told(alert_id)] == ["fired"]


def test_an_alert_that_tells_no_recovery_may_fire_again(shop: Checked) -> None:
    alert_id = shop.save("above", threshold=1, metricsQuery=VIEWS, recovery=False)
    shop.service.holds(a_view("/", at=day("04:10")), a_view("/", at=day("04:11")))

    for text in ("02:01", "03:01", "04:01", "05:01"):
        shop.check(day(text))

    assert [(event, value) for event, value, _ in shop.told(alert_id)] == [
        ("fired", 2),
        ("fired", 2),
    ]


def test_a_bucket_that_ended_before_the_alert_was_made_tells_nothing(shop: Checked) -> None:
    shop.service.holds(a_view("/", at="2026-11-29T23:30:00Z"))
    alert_id = shop.save("above", threshold=0, metricsQuery=VIEWS)

    shop.check(day("00:54"))

    assert shop.told(alert_id) == []
    assert shop.state(alert_id) == AlertState(alert_id, ms(day("00:00")), None, 1)


def test_a_day_is_a_day_of_the_website(shop: Checked) -> None:
    path = "/v1/websites/shop"
    zone = {"timezone": "Asia/Kathmandu"}  # 30 November is from 18:15 to 18:15 in UTC
    assert shop.service.ask("PATCH", path, zone, key="acme-admin").status == 200
    shop.service.holds(
        a_view("/", at="2026-11-30T18:14:59Z"), a_view("/", at="2026-11-30T18:15:00Z")
    )
    alert_id = shop.save("above", threshold=0, metricsQuery=VIEWS, every="day")

    shop.check("2026-11-30T18:16:00Z")

    assert shop.told(alert_id) == [("fired", 10, "10 page views on 30 November; the bound is 0")]
    assert shop.state(alert_id).firing_since == ms("2026-11-29T18:15:00Z")


def test_quarter_hours_are_checked_each(shop: Checked) -> None:
    alert_id = shop.save("above", threshold=4, metricsQuery=VIEWS, every="quarter_hour")

    for text in ("02:16", "02:31", "02:46"):
        shop.check(day(text))

    # From 2:10 there is a page view each minute, and from 2:15 one.
    assert shop.told(alert_id) == [
        ("fired", 5, "5 page views from 02:00 to 02:15 on 30 November; the bound is 4"),
        ("recovered", 1, "1 page views from 02:15 to 02:30 on 30 November; the bound is 4"),
    ]


def test_a_muted_alert_tells_nobody_and_remembers(shop: Checked) -> None:
    alert_id = shop.save("above", threshold=5, metricsQuery=VIEWS, mutedUntil=day("03:02"))

    shop.check(day("03:01"))

    assert [event for event, *_ in shop.told(alert_id)] == ["fired"]
    assert shop.due(alert_id) == []


def test_an_alert_that_was_muted_tells_again(shop: Checked) -> None:
    alert_id = shop.save("above", threshold=5, metricsQuery=VIEWS, mutedUntil=day("03:01"))

    shop.check(day("03:01"))

    assert shop.due(alert_id) == [("ops@shop.example", ms(day("03:01")))]


def test_quiet_hours_end_before_somebody_is_told(shop: Checked) -> None:
    quiet = shop.save("above", threshold=5, metricsQuery=VIEWS, quietHours="22:00-07:30")
    other = shop.save(
        "above", name="other", threshold=5, metricsQuery=VIEWS, quietHours="12:00-13:00"
    )

    shop.check(day("03:01"))

    assert shop.due(quiet) == [("ops@shop.example", ms(day("07:30")))]
    assert shop.due(other) == [("ops@shop.example", ms(day("03:01")))]


def test_recipients_and_channels_are_told(shop: Checked) -> None:
    body = {"name": "chat", "kind": "slack", "address": "https://hooks.slack.com/services/a/b"}
    made = shop.service.ask("POST", "/v1/channels", body, key="acme-admin", website_id="shop")
    channel = made.json["data"]["id"]
    alert_id = shop.save("above", threshold=5, metricsQuery=VIEWS, channels=[channel])

    shop.check(day("03:01"))

    assert sorted(shop.due(alert_id)) == sorted(
        [("ops@shop.example", ms(day("03:01"))), (channel, ms(day("03:01")))]
    )


def test_a_problem_is_shown_and_other_alerts_are_checked(shop: Checked) -> None:
    column = shop.save("above", threshold=5, metricsQuery=VIEWS, column="pageviews")
    goal = {"name": "Buy", "event": "purchase"}
    made = shop.service.ask("POST", "/v1/goals", goal, key="acme-admin", website_id="shop")
    assert made.status == 201
    goal_id = made.json["data"]["id"]
    by_goal = {"metrics": ["conversions"], "goals": [{"goal": goal_id}]}
    deleted = shop.save("above", name="goal", threshold=0, metricsQuery=by_goal)
    assert shop.service.ask("DELETE", f"/v1/goals/{goal_id}", key="acme-admin").status == 200
    good = shop.save("above", name="good", threshold=5, metricsQuery=VIEWS)

    shop.check(day("03:01"))

    assert [event for event, *_ in shop.told(good)] == ["fired"]
    assert shop.state(column).problem == (
        "'column' is 'pageviews', which the result has not; it has page_views"
    )
    assert "goal" in shop.state(deleted).problem
    assert shop.told(column) == shop.told(deleted) == []


def test_a_mended_alert_is_checked_at_once(shop: Checked) -> None:
    alert_id = shop.save("above", threshold=5, metricsQuery=VIEWS, column="pageviews")
    shop.check(day("03:01"))

    shop.change(alert_id, column="page_views")
    shop.check(day("03:01"))

    assert [event for event, *_ in shop.told(alert_id)] == ["fired"]
    assert shop.state(alert_id).problem == ""


def test_a_problem_is_tried_again_after_a_minute(shop: Checked) -> None:
    shop.save("above", threshold=5, metricsQuery=VIEWS, column="pageviews")

    checks = [shop.check(f"2026-11-30T03:{text}Z") for text in ("01:00", "01:59", "02:00")]

    assert checks == [1, 0, 1]


def test_an_error_in_one_check_ends_no_other(
    shop: Checked, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.save("above", threshold=5, metricsQuery=VIEWS, column="page_views")
    broken = shop.save("above", name="broken", threshold=5, metricsQuery=VIEWS, column="x")

    def fail(rows: object, column: str | None) -> float:
        if column == "x":
            raise ZeroDivisionError
        return 6

    monkeypatch.setattr("query.notify.rules.number_in", fail)

    assert [shop.check(f"2026-11-30T03:{text}Z") for text in ("01:00", "01:59")] == [2, 0]
    assert shop.state(broken).problem == "The check failed; the log of the service says why"


def test_an_alert_sees_no_rows_whose_erasure_is_pending(shop: Checked) -> None:
    alert_id = shop.save("above", threshold=5, metricsQuery=VIEWS)
    shop.service.store.create(
        Erasure(
            id="er1",
            organization_id="acme",
            website_id="shop",
            selector=Selector.VISITOR,
            value_hashes=(),
            erased_values=("visitor:u1",),
            created_at=NOW,
            updated_at=NOW,
        )
    )
    shop.service.follower.refresh()

    shop.check(day("03:01"))

    assert shop.told(alert_id) == []
    assert shop.state(alert_id).value == 0


def test_a_deleted_alert_is_not_checked(shop: Checked) -> None:
    alert_id = shop.save("above", threshold=5, metricsQuery=VIEWS)
    assert shop.service.ask("DELETE", f"/v1/alerts/{alert_id}", key="acme-admin").status == 200

    assert shop.check(day("03:01")) == 0


def test_late_data_is_a_signal_of_every_minute(shop: Checked) -> None:
    alert_id = shop.save("above", threshold=300, signal="freshness")

    shop.check(day("03:01"), now=day("03:06"))
    assert shop.told(alert_id) == []
    shop.check(day("03:01"), now="2026-11-30T03:07:30Z")
    shop.check(day("03:07"), now=day("03:08"))

    assert shop.told(alert_id) == [
        ("fired", 390, "390 seconds late from 03:06 to 03:07 on 30 November; the bound is 300"),
        ("recovered", 60, "60 seconds late from 03:07 to 03:08 on 30 November; the bound is 300"),
    ]


def test_the_used_share_of_a_rate_limit_is_a_signal(shop: Checked) -> None:
    alert_id = shop.save("above", threshold=10, signal="rate_limit")
    settings = Settings(data_dir=str(shop.service.data))
    counts = MachineCounts(counts_path(settings, COLLECTOR))
    name = bucket_name(COLLECTOR, (Group.COLLECT, "shop"))

    # enterprise: 6,000,000 requests and 60,000,000 items a minute
    counts.add_now([Counted(name, requests=60_000, items=9_000_000)])
    shop.check(day("03:01"))

    assert shop.told(alert_id) == [
        (
            "fired",
            15,
            "15 percent of the rate limit from 03:00 to 03:01 on 30 November; the bound is 10",
        )
    ]
