"""Hypothesis strategies for the options of query types: steps, goals, breakdowns, periods."""

from datetime import date, timedelta
from typing import Any

from hypothesis import strategies as st

_paths = st.sampled_from(("/", "/a", "/a/b"))
_steps = st.one_of(
    st.fixed_dictionaries({"path": _paths}),
    st.fixed_dictionaries({"event": st.sampled_from(("signup", "screen_view", "page_exit"))}),
    st.fixed_dictionaries(
        {
            "path": _paths,
            "label": st.just("some of them"),
            "filters": st.sampled_from(
                [
                    [{"field": name, "operator": "eq", "value": value}]
                    for name, value in (
                        ("country", "DE"),
                        ("visit.country", "DE"),
                        ("channel", "Direct"),
                        ("event.channel", "Direct"),
                    )
                ]
            ),
        }
    ),
)

BREAKDOWNS = (
    *("channel", "event.channel", "visit.country", "visit.entry_page", "visit.exit_page"),
    *("device_type", "path", "name", "is_bot", "load_time", "properties.plan", "properties.seats"),
)
GROUPS_OF_ERRORS = ("error_types", "error_fingerprints", "error_changes", "error_states")


def _split(options: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The options, half of the time with a breakdown."""
    breakdown = st.fixed_dictionaries(
        {"breakdown": st.sampled_from(BREAKDOWNS)},
        optional={"breakdown_limit": st.sampled_from((1, 2, 3))},
    )
    return st.builds(lambda own, more: {**own, **more}, options, st.one_of(st.just({}), breakdown))


_goals = st.builds(
    lambda step, value: {**step, "value": value} if value else step,
    _steps,
    st.sampled_from((None, "properties.seats", "properties.price")),
)
_SEQUENCE = st.fixed_dictionaries(
    {
        "steps": st.lists(_steps, min_size=2, max_size=4),
        "window": st.sampled_from((900, 36_000, 604_800)),
        "by": st.sampled_from(("visitor", "session")),
    },
    optional={
        "order": st.sampled_from(("sequence", "strict")),
        "exclusions": st.lists(_steps, min_size=1, max_size=2),
    },
)
_FUNNEL = _split(_SEQUENCE)
_GOALS = st.builds(
    lambda own, touch: {**own, "attribution": touch} if touch and "breakdown" in own else own,
    _split(st.fixed_dictionaries({"goals": st.lists(_goals, min_size=1, max_size=3)})),
    st.sampled_from((None, "first_touch", "last_touch")),
)
_PATHS = _split(
    st.fixed_dictionaries(
        {"max_steps": st.sampled_from((2, 3, 5))}, optional={"from": _paths, "to": _paths}
    )
)
_PERIOD = st.fixed_dictionaries({"period": st.sampled_from(("day", "week", "month"))})
_RETENTION = _split(
    st.one_of(
        st.fixed_dictionaries(
            {"period": st.sampled_from(("day", "week", "month"))},
            optional={"cohort": st.sampled_from(("first_ever", "first_in_range"))},
        ),
        st.fixed_dictionaries(
            {
                "period": st.sampled_from(("day", "week", "month")),
                "cohort": st.just("first_in_range"),
                "start": _steps,
            },
            optional={"returning": _steps},
        ),
        st.fixed_dictionaries(
            {"period": st.sampled_from(("day", "week", "month")), "returning": _steps},
            optional={"cohort": st.sampled_from(("first_ever", "first_in_range"))},
        ),
    )
)
_GROUPING = st.fixed_dictionaries(
    {}, optional={"by": st.sampled_from(("message", "message_pattern"))}
)
_ATTRIBUTION = st.fixed_dictionaries(
    {
        "goal": _goals,
        "model": st.sampled_from(
            ("first_touch", "last_touch", "last_non_direct", "linear", "position_based")
        ),
    },
    optional={
        "by": st.sampled_from(("channel", "visit.entry_page", "utm_source")),
        "window_days": st.sampled_from((1, 2, 30)),
    },
)


@st.composite
def _numbers(draw: st.DrawFn, day: date) -> dict[str, Any]:
    """A number of another type, whose visitors are listed."""
    name = draw(st.sampled_from(("funnel", "goals", "paths", "retention")))
    strategies = {"funnel": _FUNNEL, "goals": _GOALS, "paths": _PATHS, "retention": _RETENTION}
    of = {"name": name, **draw(strategies[name])}
    if name == "funnel":
        of["step"] = draw(st.integers(1, len(of["steps"])))
        of["outcome"] = draw(st.sampled_from(("completed", "dropped")[: of["step"]]))
    if name == "goals":
        goal = draw(st.sampled_from(of["goals"]))
        of["goal"] = goal.get("label") or goal.get("event") or goal["path"]
        of["outcome"] = draw(st.sampled_from(("converted", "not_converted")))
    if name == "paths":
        of["path"] = draw(st.sampled_from(("/", "/a", "/ → /a", "/a → /a/b")))
    if name == "retention":
        back = {"day": 0, "week": day.weekday(), "month": day.day - 1}[of["period"]]
        of["date"] = (day - timedelta(days=back)).isoformat()
        of["after"] = draw(st.integers(0, 1))
        of["outcome"] = draw(st.sampled_from(("returned", "not_returned")))
    if "breakdown" in of:
        values = (None, "Direct", "DE", "/a", "pro", "mobile", "false")
        groups = st.one_of(
            st.just({"other": True}), st.builds(lambda v: {"breakdown": v}, st.sampled_from(values))
        )
        of["group"] = draw(groups)
    return of


def options(day: date) -> st.SearchStrategy[Any]:
    """Options of the types that have any."""
    return st.fixed_dictionaries(
        {
            "funnel": _FUNNEL,
            "funnel_trend": _SEQUENCE,
            "goals": _GOALS,
            "paths": _PATHS,
            "retention": _RETENTION,
            "stickiness": _PERIOD,
            "lifecycle": _PERIOD,
            "attribution": _ATTRIBUTION,
            "time_to_convert": st.fixed_dictionaries({"goal": _steps}),
            "imported_totals": st.fixed_dictionaries(
                {}, optional={"dimension": st.sampled_from(("path", "country"))}
            ),
            "imported_totals_by_date": _PERIOD,
            **dict.fromkeys(GROUPS_OF_ERRORS, _GROUPING),
            "visitors": st.fixed_dictionaries({"of": _numbers(day)}),
        }
    )
