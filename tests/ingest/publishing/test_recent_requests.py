"""Recent requests of a website: bounded in number and bytes."""

from contextlib import ExitStack

import pytest

from ingest.publishing import recent_requests
from ingest.publishing.recent_requests import RecentRequest, RecentRequests
from schemas.errors import Unavailable


def an_event(size: int = 0) -> RecentRequest:
    return RecentRequest(0, "events", 1, b"x" * size, "r")


def test_requests_per_website_are_bounded() -> None:
    remembered = RecentRequests()
    for _ in range(recent_requests.MAX_REQUESTS + 5):
        remembered.add("shop", an_event())
    remembered.add("blog", an_event())

    assert (len(remembered.latest("shop")), len(remembered.latest("blog"))) == (
        recent_requests.MAX_REQUESTS,
        1,
    )


def test_bytes_per_website_are_bounded() -> None:
    remembered = RecentRequests()
    size = recent_requests.MAX_WEBSITE_BYTES // 4
    for _ in range(5):
        remembered.add("shop", an_event(size))

    assert len(remembered.latest("shop")) == 3  # each costs a little more than its items


def test_the_website_that_was_silent_longest_is_evicted_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        recent_requests, "MAX_TOTAL_BYTES", 3 * recent_requests.REQUEST_OVERHEAD_BYTES
    )
    remembered = RecentRequests()
    for website in ("shop", "blog", "shop", "solo"):
        remembered.add(website, an_event())

    assert {website: len(remembered.latest(website)) for website in ("shop", "blog", "solo")} == {
        "shop": 2,
        "blog": 0,
        "solo": 1,
    }


def test_a_slow_follower_misses_the_oldest_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_requests, "MAX_QUEUED_REQUESTS", 2)
    remembered = RecentRequests()
    with remembered.follow("shop", "acme") as queue:
        for size in (1, 2, 3):
            remembered.add("shop", an_event(size))
        remembered.close()
        waiting = [queue.get_nowait() for _ in range(queue.qsize())]

    assert waiting == [an_event(3), None]


def test_requests_behind_a_number_are_those_added_since(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        recent_requests, "MAX_TOTAL_BYTES", 3 * recent_requests.REQUEST_OVERHEAD_BYTES
    )
    remembered = RecentRequests()
    assert remembered.after("shop", 0) == (0, [])
    for website in ("shop", "shop", "blog"):
        remembered.add(website, an_event())
    last, both = remembered.after("shop", 0)
    assert (last, len(both)) == (2, 2)

    for website in ("blog", "blog", "shop"):  # the website is evicted in between
        remembered.add(website, an_event())
    after, [added] = remembered.after("shop", last)
    assert (after > last, added) == (True, an_event())


def test_followers_per_organization_are_bounded() -> None:
    remembered = RecentRequests()
    with ExitStack() as following:
        for _ in range(recent_requests.MAX_FOLLOWERS_PER_ORGANIZATION):
            following.enter_context(remembered.follow("shop", "acme"))
        following.enter_context(remembered.follow("solo", "solo-org"))
        with pytest.raises(Unavailable):
            following.enter_context(remembered.follow("blog", "acme"))
