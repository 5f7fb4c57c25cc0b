"""Behaviors of visitors, decided by going through the events of each visitor."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from tests.oracle.aggregates import is_view
from tests.oracle.filters import FilterJson, all_hold
from tests.oracle.stored_rows import Row

EventsWithin = Callable[[str], Sequence[Row]]
"""The events of the time range, or all of them (`ever`)."""


def with_visitors(condition: FilterJson, events: EventsWithin) -> FilterJson:
    """The filter with a behavior replaced by the ids of its visitors."""
    if "and" in condition:
        return {"and": [with_visitors(each, events) for each in condition["and"]]}
    if "or" in condition:
        return {"or": [with_visitors(each, events) for each in condition["or"]]}
    if "not" in condition:
        return {"not": with_visitors(condition["not"], events)}
    if "has_done" in condition:
        return {"visitor_in": visitors_who(condition["has_done"], events)}
    if "has_not_done" in condition:
        return {"not": {"visitor_in": visitors_who(condition["has_not_done"], events)}}
    return condition


def names_visitors(condition: FilterJson) -> bool:
    """Whether it says which visitors did something."""
    parts = [*condition.get("and", ()), *condition.get("or", ())]
    parts += filter(None, [condition.get("not")])
    return "visitor_in" in condition or any(map(names_visitors, parts))


def visitors_who(behavior: Mapping[str, Any], events: EventsWithin) -> list[str]:
    """The ids of the visitors who did it often enough."""
    counts: dict[str, int] = {}
    for row in events(behavior.get("within", "range")):
        if row["anonymous_id"] is not None and _is_it(row, behavior):
            counts[row["anonymous_id"]] = counts.get(row["anonymous_id"], 0) + 1
    return sorted(name for name, count in counts.items() if count >= behavior.get("times", 1))


def _is_it(row: Row, behavior: Mapping[str, Any]) -> bool:
    if "event" in behavior and row["name"] != behavior["event"]:
        return False
    if "path" in behavior and not (is_view(row) and row.get("path") == behavior["path"]):
        return False
    return all_hold(row, behavior.get("filters", ()))


_conditions = st.sampled_from(
    (
        {"field": "country", "operator": "eq", "value": "DE"},
        {"field": "country", "operator": "is_null"},
        {"field": "path", "operator": "starts_with", "value": "/a"},
        {"field": "event.channel", "operator": "eq", "value": "Direct"},
        {"not": {"field": "device_type", "operator": "eq", "value": "mobile"}},
    )
)
_acts: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.sampled_from(({"event": "signup"}, {"event": "purchase"}, {"path": "/"}, {"path": "/a"})),
    st.lists(_conditions, min_size=1, max_size=2).map(lambda filters: {"filters": filters}),
    st.tuples(st.sampled_from(({"event": "Signup"}, {"path": "/a/b"})), _conditions).map(
        lambda pair: {**pair[0], "filters": [pair[1]]}
    ),
    st.just({"filters": [{"field": "visit.channel", "operator": "eq", "value": "Organic Search"}]}),
    st.just({"filters": [{"field": "visitor.is_new", "operator": "eq", "value": True}]}),
)


def _behavior(act: dict[str, Any], within: str | None, times: int | None) -> dict[str, Any]:
    """Facts of visits are asked of the time range alone."""
    of_visit = "visit." in str(act)
    return {
        **act,
        **({} if within is None or of_visit else {"within": within}),
        **({} if times is None else {"times": times}),
    }


behaviors: st.SearchStrategy[FilterJson] = st.builds(
    lambda word, act, within, times: {word: _behavior(act, within, times)},
    st.sampled_from(("has_done", "has_not_done")),
    _acts,
    st.sampled_from((None, "range", "ever")),
    st.sampled_from((None, None, 1, 2, 3)),
)
"""Filters on what visitors did."""
