"""How pages were used, and by whom: numbers worked out by hand."""

from decimal import Decimal
from typing import Any

from tests.query.lake import Stored, a_view, an_engagement, an_event, an_identity
from tests.query.query_service import InProcessService


def raged(target: str | None, **more: Any) -> dict[str, Any]:
    return {"rage_click_count": 2, "rage_click_target": target, **more}


def test_frustration_needs_five_page_views(service: InProcessService) -> None:
    service.holds(
        an_engagement("/cart", **raged("#pay"), error_count=1),
        an_engagement("/cart", **raged("#pay"), visitor="u2"),
        an_engagement("/cart", **raged("#buy"), dead_click_count=1, dead_click_target="img"),
        # a target without a click is none, and so is one without a name
        an_engagement("/cart", rage_click_count=0, rage_click_target="#buy"),
        an_engagement("/cart", **raged("")),
        *(an_engagement("/calm", visitor=f"u{n}") for n in range(6)),
        *(an_engagement("/rare", **raged("#x")) for _ in range(4)),
        *(an_engagement("/cart", website="blog", **raged("#z")) for _ in range(5)),
    )

    assert service.rows("frustration_by_page") == [
        {
            "name": "/cart",
            "page_views": 5,
            "visitors": 2,
            "rage_click_rate": 80.0,
            "dead_click_rate": 20.0,
            "error_rate": 20.0,
            "top_dead_click_target": "img",
            "top_rage_click_target": "#pay",
        },
        {
            "name": "/calm",
            "page_views": 6,
            "visitors": 6,
            "rage_click_rate": 0.0,
            "dead_click_rate": 0.0,
            "error_rate": 0.0,
            "top_dead_click_target": None,
            "top_rage_click_target": None,
        },
    ]


def test_a_form_is_abandoned_where_it_was_left(service: InProcessService) -> None:
    left: dict[str, Any] = {"form_field_count": 2, "form_submit_count": 0, "form_abandoned": True}
    service.holds(
        an_engagement("/join", **left, last_form_field="email"),
        an_engagement("/join", **left, last_form_field="phone"),
        an_engagement("/join", **left, last_form_field="phone", visitor="u2"),
        an_engagement("/join", form_field_count=3, form_submit_count=1, last_form_field="name"),
        an_engagement("/join", form_field_count=0),
        an_engagement("/ask", form_submit_count=1),
    )

    assert service.rows("form_abandonment_by_page") == [
        {
            "name": "/join",
            "form_starts": 4,
            "form_submits": 1,
            "abandonment_rate": 75.0,
            "top_abandoned_field": "phone",
        },
        {
            "name": "/ask",
            "form_starts": 1,
            "form_submits": 1,
            "abandonment_rate": 0.0,
            "top_abandoned_field": None,
        },
    ]


def test_quality_is_of_what_was_reported(service: InProcessService) -> None:
    service.holds(
        an_engagement(
            "/a", time_on_page=Decimal(40), active_time=Decimal(10), max_scroll_depth=Decimal(100),
            interaction_count=4, time_to_first_interaction=Decimal(800),
        ),
        an_engagement(
            "/a", time_on_page=Decimal(20), active_time=Decimal(5), max_scroll_depth=Decimal(25),
            interaction_count=1, time_to_first_interaction=Decimal(0),
        ),
        # without its active time it says nothing of attention
        an_engagement("/a", time_on_page=Decimal(60), time_to_first_interaction=Decimal("1200.5")),
        an_engagement("/b"),
    )  # fmt: skip

    assert service.rows("engagement_quality_by_page") == [
        {
            "name": "/a",
            "page_views": 3,
            "avg_time_on_page": 40.0,
            "avg_active_time": 7.5,
            "attention_ratio": 25.0,
            "avg_scroll_depth": 62.5,
            "avg_interactions": 2.5,
            "median_time_to_first_interaction": 1000.25,
        },
        {
            "name": "/b",
            "page_views": 1,
            "avg_time_on_page": None,
            "avg_active_time": None,
            "attention_ratio": 0.0,
            "avg_scroll_depth": None,
            "avg_interactions": None,
            "median_time_to_first_interaction": None,
        },
    ]


def test_reports_of_one_page_view_are_one(service: InProcessService) -> None:
    def report(at: str, path: str = "/a", **more: Any) -> Stored:
        columns: dict[str, Any] = {"exit_type": "hidden", "time_on_page": Decimal(10), **more}
        return an_engagement(path, at=f"2026-11-10T{at}Z", **columns)

    filled: dict[str, Any] = {"form_field_count": 2, "last_form_field": "email"}
    service.holds(
        # a page view in three parts, in the last of which its form is sent
        report(
            "09:00:00", time_to_first_interaction=Decimal(700), max_scroll_depth=Decimal(20),
            rage_click_count=1, interaction_count=3, active_time=Decimal(5), form_submit_count=0,
            form_abandoned=True, **filled,
        ),
        report("09:01:00", max_scroll_depth=Decimal(90), rage_click_count=1, interaction_count=1),
        report("09:02:00", exit_type="spa", form_submit_count=1, form_abandoned=False, **filled),
        # the next ones of the page: after it was left, by a first report, in another session
        report("09:03:00", form_abandoned=True, form_field_count=1, last_form_field="name"),
        report("09:04:00", time_to_first_interaction=Decimal(0), max_scroll_depth=Decimal(30)),
        report("09:04:00", session="s2", visitor="u2"),
        report("09:05:00", visitor=None, session=None),
        report("09:06:00", visitor=None, session=None),
        report("09:04:30", path="/b"),
    )  # fmt: skip

    [a, b] = service.rows("engagement_quality_by_page")
    assert (b["name"], b["page_views"], b["avg_time_on_page"]) == ("/b", 1, 10.0)
    assert a == {
        "name": "/a",
        "page_views": 6,
        # 30 seconds, and five times 10
        "avg_time_on_page": 13.33,
        "avg_active_time": 5.0,
        # 5 of the 30 seconds
        "attention_ratio": 16.67,
        # 90 and 30
        "avg_scroll_depth": 60.0,
        "avg_interactions": 4.0,
        "median_time_to_first_interaction": 700.0,
    }
    [frustration] = service.rows("frustration_by_page")
    assert (frustration["page_views"], frustration["rage_click_rate"]) == (6, 16.67)
    assert service.rows("form_abandonment_by_page") == [
        {
            "name": "/a",
            "form_starts": 2,
            "form_submits": 1,
            "abandonment_rate": 50.0,
            "top_abandoned_field": "name",
        }
    ]


def test_a_custom_query_asks_what_was_told_of_a_page(service: InProcessService) -> None:
    service.holds(
        an_engagement("/a", click_count=3), an_engagement("/a", click_count=4), an_engagement("/b")
    )

    reply = service.ask(
        "POST",
        "/v1/query/custom",
        {
            "query": {
                "table": "engagement",
                "selects": [{"field": "click_count", "aggregate": "sum", "alias": "clicks"}],
                "groupBy": ["path"],
            },
            "startDate": "2026-11-10",
            "endDate": "2026-11-10",
        },
        website_id="shop",
    )

    assert reply.json["data"] == [{"path": "/a", "clicks": 7}, {"path": "/b", "clicks": None}]


def who(service: InProcessService, visitor: str) -> tuple[str, str | None]:
    """The id and the traits by which a visitor is known."""
    one = [{"field": "anonymous_id", "op": "eq", "value": visitor}]
    [detail] = service.rows("profile_detail", filters=one)
    return detail["profile_id"], detail["traits"]


def test_a_profile_says_who_the_visitor_was_last_told_to_be(service: InProcessService) -> None:
    service.holds(
        a_view("/a"),
        an_event("signup", profile_id="old-id"),
        an_identity("user-7", traits='{"plan":"free"}', at="2026-11-10T12:00:01Z"),
        an_identity("user-7", traits='{"plan":"pro"}', at="2026-11-10T12:00:02Z"),
        an_identity("user-8", at="2026-11-10T12:00:03Z"),
        an_identity("other", visitor="u2", traits="{}"),
        a_view("/a", visitor="u3", session="s3"),
        an_event("signup", visitor="u3", profile_id="user-3"),
        an_identity("rival", visitor="u3", website="blog"),
    )

    assert who(service, "u1") == ("user-8", None)  # the traits were user-7's
    assert who(service, "u3") == ("user-3", None)


def test_a_stranger_does_not_rename_whom_a_server_has_identified(service: InProcessService) -> None:
    service.holds(
        a_view("/a"),
        an_identity("user-7", traits='{"plan":"pro"}', trusted=True, at="2026-11-10T12:00:01Z"),
        an_identity("user-7", trusted=True, at="2026-11-10T12:00:02Z"),
        an_identity("zz", traits='{"plan":"none"}', trusted=False, at="2026-11-10T12:00:03Z"),
        an_event("signup", profile_id="user-7", trusted=True),
        an_event("signup", profile_id="zz", trusted=False),
        a_view("/a", visitor="u2", session="s2"),
        an_identity("user-2", visitor="u2", trusted=False),
    )
    # before there was a column for it
    service.lake.holds(
        a_view("/a", visitor="u3", session="s3"),
        an_identity("user-3", visitor="u3", sender='{"trusted":true}'),
        without=("trusted",),
    )
    service.holds(an_identity("zz", visitor="u3", trusted=False, at="2026-11-10T12:00:03Z"))

    assert who(service, "u1") == ("user-7", '{"plan":"pro"}')
    assert who(service, "u2") == ("user-2", None)
    assert who(service, "u3") == ("user-3", None)
    listed = {row["visitor_id"]: row["profile_id"] for row in service.rows("profile_list")}
    assert listed == {"u1": "user-7", "u2": "user-2", "u3": "user-3"}
