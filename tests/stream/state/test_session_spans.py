"""Visitors' spans are shared fairly between memory and disk, by website."""

from pathlib import Path

import pytest

from stream.state import session_spans
from stream.state.session_spans import (
    SessionSpan,
    SessionSpans,
    VisitorSpans,
    derived_session_id,
    max_min_share,
)


@pytest.mark.parametrize(
    ("sizes", "limit", "share"),
    [
        ([1, 2, 10], 9, 6),  # 1 and 2 stay, and leave 6 of the 9
        ([5, 5, 5], 9, 3),
        ([1, 2], 9, 2),  # the limit suffices for all
        ([100], 9, 9),
        ([], 9, 0),
    ],
)
def test_only_the_largest_sizes_are_cut(sizes: list[int], limit: int, share: int) -> None:
    assert max_min_share(sizes, limit) == share
    assert sum(min(size, share) for size in sizes) <= limit


def at_once(visitor_spans: VisitorSpans, website: str, *visitors: int, hour: int = 0) -> None:
    """Visitors with one session each, named by the visitor."""
    for visitor in visitors:
        visitor_spans.update(
            {
                (website, visitor): (
                    SessionSpan(derived_session_id(visitor), hour, visitor, visitor),
                )
            }
        )


def in_memory(visitor_spans: VisitorSpans) -> dict[str, list[int]]:
    return {website: list(known) for website, known in visitor_spans.websites.items()}


def test_forged_visitors_take_no_memory_from_other_websites(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_spans, "MAX_SPANS_IN_MEMORY", 8)
    visitor_spans = VisitorSpans(tmp_path)

    at_once(visitor_spans, "victim", 1, 2)
    at_once(visitor_spans, "stranger", *range(10, 17))

    # 9 are too many; of room for 6, the victim needs 2
    assert in_memory(visitor_spans) == {"victim": [1, 2], "stranger": [13, 14, 15, 16]}
    assert len(visitor_spans.spilled) == 3
    assert visitor_spans.load_spilled([("stranger", 11), ("stranger", 99), ("victim", 11)]) == {
        ("stranger", 11): (SessionSpan(derived_session_id(11), 0, 11, 11),)
    }


def test_a_spilled_visitor_has_the_newest_spans(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_spans, "MAX_SPANS_IN_MEMORY", 4)
    visitor_spans = VisitorSpans(tmp_path)
    last: dict[int, SessionSpans] = {}
    for step in range(200):
        visitor = step * 7 % 23
        session = SessionSpan(derived_session_id(visitor), step // 50, step, step)
        spans: SessionSpans = (session, SessionSpan(derived_session_id(step), 3, 0, step))
        visitor_spans.update({("w1", visitor): spans})
        last[visitor] = spans

    for visitor, spans in last.items():
        who = ("w1", visitor)
        assert (visitor_spans.of(who) or visitor_spans.load_spilled([who])[who]) == spans
    visitor_spans.expire(4)
    assert (in_memory(visitor_spans), len(visitor_spans.spilled)) == ({}, 0)
