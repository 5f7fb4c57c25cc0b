"""Totals of a website: numbers worked out by hand from the definitions."""

import pytest

from tests.query.lake import Stored, a_view, an_event
from tests.query.query_service import InProcessService


def at(clock: str) -> str:
    return f"2026-11-10T{clock}Z"


def test_a_summary_counts_views_visitors_sessions_and_bounces(service: InProcessService) -> None:
    service.holds(
        # u1: two views in 60 s
        a_view("/", visitor="u1", session="s1", at=at("12:00:00")),
        a_view("/pricing", visitor="u1", session="s1", at=at("12:01:00")),
        # u2: one view and its exit after 4 s: a bounce
        a_view("/", visitor="u2", session="s2", at=at("13:00:00")),
        an_event("page_exit", visitor="u2", session="s2", at=at("13:00:04")),
        # u3: one view of 30.5 reported seconds: no bounce
        a_view("/", visitor="u3", session="s3", at=at("14:00:00"), time_on_page=30.5),
        # a server: an event without a session
        an_event("renewed", visitor=None, session=None),
        # another website
        a_view("/", website="blog", visitor="u9", session="s9"),
    )

    assert service.rows("summary") == [
        {
            "pageviews": 4,
            "unique_visitors": 3,
            "sessions": 3,
            "bounce_rate": 33.33,
            "median_session_duration": 30.5,
            "pages_per_session": 1.33,
            "total_events": 6,
        }
    ]


SECOND_VIEW = a_view("/b", at=at("12:00:05"))
SIGN_UP = an_event("signup", at=at("12:00:05"))
QUICK_EXIT = an_event("page_exit", at=at("12:00:09.999"))
IMPRESSION = an_event("impression", at=at("12:00:00.100"), interactive=False)
SLOW_IMPRESSION = an_event("impression", at=at("12:00:10"), interactive=False)
OUTSIDE = an_event("out", at=at("12:00:01"), outbound_domain="x.example", interactive=False)
SLOW_EXIT = an_event("page_exit", at=at("12:00:10"))


@pytest.mark.parametrize(
    ("after", "rate"),
    [
        ([], 100.0),
        ([QUICK_EXIT], 100.0),
        ([SLOW_EXIT], 0.0),
        ([SIGN_UP], 0.0),
        ([IMPRESSION, OUTSIDE], 100.0),
        ([IMPRESSION, SIGN_UP], 0.0),
        ([SLOW_IMPRESSION], 0.0),
        ([an_event("signup", at=at("12:00:05"), interactive=True)], 0.0),
        ([SECOND_VIEW], 0.0),
    ],
)
def test_a_session_bounces_when_nothing_follows_its_one_view(
    service: InProcessService, after: list[Stored], rate: float
) -> None:
    service.holds(a_view("/", at=at("12:00:00")), *after)

    assert service.rows("summary")[0]["bounce_rate"] == rate


def test_a_session_without_a_page_view_is_none(service: InProcessService) -> None:
    service.holds(an_event("signup"), a_view("/", session=None, visitor="u2"))

    summary = service.rows("summary")[0]

    assert (summary["pageviews"], summary["sessions"], summary["unique_visitors"]) == (1, 0, 2)


def test_both_names_of_a_page_view_count(service: InProcessService) -> None:
    service.holds(a_view("/"), an_event("pageview", path="/"))

    assert service.rows("summary")[0]["pageviews"] == 2


def test_the_median_of_an_even_number_is_between_the_middle_two(service: InProcessService) -> None:
    for n, seconds in enumerate((10, 20, 31, 59)):
        service.holds(
            a_view("/", session=f"s{n}", at=at("12:00:00")),
            an_event("page_exit", session=f"s{n}", at=at(f"12:00:{seconds}")),
        )

    assert service.rows("summary")[0]["median_session_duration"] == 25.5


def test_a_ratio_is_rounded_half_up(service: InProcessService) -> None:
    # 1 bounce of 800 sessions is 0.125 %
    views = [a_view("/", session=f"s{n}", at=at("12:00:00")) for n in range(800)]
    exits = [an_event("signup", session=f"s{n}", at=at("12:01:00")) for n in range(1, 800)]
    service.holds(*views, *exits)

    assert service.rows("summary")[0]["bounce_rate"] == 0.13
