"""Rejections are counted by reason, of the reasons and websites that were met last."""

from collections.abc import Sequence

from ingest.decoding.decoder import RejectedItem
from ingest.publishing import rejection_counts
from ingest.publishing.recent_requests import RecentRequest, RecentRequests, RequestError
from ingest.publishing.rejection_counts import RejectionCount, RejectionCounts, merged_counts

BAD = RejectedItem(0, "VALIDATION_ERROR", "'name' must be a string, not a number")


def count(message: str = "m", number: int = 1, first: int = 0, last: int = 0) -> RejectionCount:
    return RejectionCount("/track", "C", message, number, first, last)


def messages(counts: Sequence[RejectionCount]) -> list[str]:
    return [each.message for each in counts]


def test_items_of_a_request_are_counted_and_a_refused_request_once() -> None:
    requests = RecentRequests()
    requests.add("shop", RecentRequest(1_000, "/track", rejected=(BAD, BAD), omitted_rejects=7))
    requests.add(
        "shop",
        RecentRequest(5_000, "/track", rejected=(BAD,), error=RequestError(400, "C", "none valid")),
    )
    requests.add("shop", RecentRequest(6_000, "/track", error=RequestError(413, "L", "too large")))
    requests.add("shop", RecentRequest(7_000, "events", 3, b"envelope", "receipt"))

    counted = merged_counts(requests.rejection_counts.of_website("shop"))

    assert counted == [
        RejectionCount("/track", "", rejection_counts.REJECTS_OMITTED, 7, 1_000, 1_000),
        RejectionCount("/track", BAD.code, BAD.message, 3, 1_000, 5_000),
        RejectionCount("/track", "L", "too large", 1, 6_000, 6_000),
    ]
    assert requests.rejection_counts.of_website("blog") == []


def test_the_reason_that_was_met_longest_ago_makes_way() -> None:
    counts = RejectionCounts()
    for number in range(rejection_counts.MAX_REASONS):
        counts.add("shop", [count(f"reason {number}")])

    counts.add("shop", [count("reason 0"), count("new")])

    kept = messages(counts.of_website("shop"))
    assert len(kept) == rejection_counts.MAX_REASONS
    assert {"reason 0", "new"} <= {*kept}
    assert "reason 1" not in kept


def test_the_website_that_was_met_longest_ago_makes_way() -> None:
    counts = RejectionCounts()
    for number in range(rejection_counts.MAX_WEBSITES + 1):
        counts.add(f"website {number}", [count()])

    assert counts.of_website("website 0") == []
    assert messages(counts.of_website("website 1")) == ["m"]


def test_counts_of_several_processes_are_one() -> None:
    merged = merged_counts([count("a", 2, 5, 9), count("b", 3, 1, 1), count("a", 2, 3, 4)])

    assert merged == [count("a", 4, 3, 9), count("b", 3, 1, 1)]
