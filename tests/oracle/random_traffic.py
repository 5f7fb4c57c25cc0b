"""Hypothesis strategies for stored rows: people, bots and other tenants around one day."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import strategies as st
from msgspec import Struct

from schemas.tables import (
    CLICKS,
    ENGAGEMENT,
    ERRORS,
    EVENTS,
    IDENTITIES,
    IMPORTED_TOTALS,
    VITALS,
    Table,
)
from tests.oracle import wall_clock
from tests.oracle.traffic_values import (
    AGENTS,
    BOT_REASONS,
    CAMPAIGNS,
    DOMAINS,
    HOSTS,
    MESSAGES,
    NAMES,
    PATHS,
    PLACES,
    PROPERTIES,
    SESSIONS,
    SOURCES,
    VISITORS,
    VITAL_NAMES,
    StoredRow,
)
from tests.query.lake import Stored, hashed
from tests.query.query_service import NOW


class Stage(Struct, frozen=True):
    """Where and when an example plays."""

    zone: str
    day: date


STAGES = (
    Stage("UTC", date(2026, 11, 29)),  # the day before NOW
    Stage("America/New_York", date(2026, 11, 29)),  # and the day that it still is there
    Stage("Europe/Berlin", date(2026, 10, 25)),
    Stage("Europe/Berlin", date(2026, 3, 29)),
    Stage("America/New_York", date(2026, 11, 1)),
    Stage("America/New_York", date(2026, 3, 8)),
    Stage("Asia/Kathmandu", date(2026, 1, 1)),
    Stage("Asia/Kolkata", date(2026, 11, 10)),
    Stage("Australia/Lord_Howe", date(2026, 4, 5)),
    Stage("Australia/Lord_Howe", date(2026, 10, 4)),
    Stage("Pacific/Chatham", date(2026, 4, 5)),
    Stage("Pacific/Apia", date(2011, 12, 30)),
    Stage("America/Sao_Paulo", date(2018, 11, 4)),
)


def parameters(stages: Sequence[Stage], usual: int = 1) -> list[object]:
    """Parameters of a test: the first stages are usual, the others only of `make test-long`."""
    marks = [()] * usual + [(pytest.mark.long,)] * (len(stages) - usual)
    return [
        pytest.param(stage, id=f"{stage.zone} {stage.day}", marks=mark)
        for stage, mark in zip(stages, marks, strict=True)
    ]


DAY_MS = 86_400_000

stages = st.sampled_from(STAGES)


def instants(stage: Stage) -> st.SearchStrategy[int]:
    """Unix milliseconds around the day: borders of days and hours, ties, and anything."""
    start, beyond = wall_clock.bounds(stage.day, stage.day, stage.zone)
    edges = [start, beyond, start + 2 * 3_600_000, start + 3 * 3_600_000, start + 12 * 3_600_000]
    near = [edge + by for edge in edges for by in (-1, 0, 1, 9_999, 10_000, 900_000)]
    if start <= NOW <= beyond + DAY_MS:
        near += [NOW + minutes * 60_000 for minutes in (-60, -5, -4, -2, -1, 0, 4, 5)]
    anywhere = st.integers(start - 36 * 3_600_000, beyond + 60 * 3_600_000)
    return st.one_of(st.sampled_from(near), st.sampled_from(near), anywhere)


@st.composite
def rows(draw: st.DrawFn, stage: Stage, table: Table) -> Stored:
    """One row of a table."""
    ms = draw(instants(stage))
    late_ms = draw(st.sampled_from((250, 250, 250, 5_000, 3 * 86_400_000)))
    visitor, session = draw(st.sampled_from(VISITORS)), draw(st.sampled_from(SESSIONS))
    values: dict[str, Any] = {
        **_when(ms, late_ms),
        "kafka_partition": draw(st.sampled_from((0, 0, 1))),
        "seq": draw(st.sampled_from((0, 0, 1))),
        "is_bot": draw(st.sampled_from((False, False, False, False, True, None))),
        "bot_reason": draw(st.sampled_from(BOT_REASONS)),
        "rules_version": 1,
        "anonymous_id": visitor,
        "visitor_hash": hashed(visitor),
        **draw(st.sampled_from(AGENTS)),
        **draw(st.sampled_from(PLACES)),
    }
    if table is not CLICKS:
        values |= {
            "event_id": draw(st.sampled_from((None, None, "e1"))),
            "website_id": draw(st.sampled_from(("shop", "shop", "shop", "shop", "blog", "rival"))),
            "session_id": session,
            "session_hash": hashed(session),
            "host": draw(st.sampled_from(HOSTS)),
            "path": draw(st.sampled_from(PATHS)),
        }
    values |= draw(OWN[table.name])
    if table is IMPORTED_TOTALS:
        values["ts"] = values["ts"].replace(hour=0, minute=0, second=0, microsecond=0)
    return Stored(table, {c.name: values.get(c.name) for c in table.columns if c.name != "day"})


def _when(ms: int, late_ms: int) -> StoredRow:
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
    return {"ts": at, "received_at": at + timedelta(milliseconds=late_ms)}


def _decimals(least: float, most: float) -> st.SearchStrategy[Decimal | None]:
    some = (0, least, most, 10, (least + most) / 2)
    few = [Decimal(str(value)).quantize(Decimal("0.0001")) for value in some]
    any_of_them = st.integers(round(least * 10_000), round(most * 10_000))
    return st.one_of(
        st.none(), st.sampled_from(few), any_of_them.map(lambda n: Decimal(n) / Decimal(10_000))
    )


_events = st.one_of(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(("screen_view", "screen_view", "pageview")),
            "title": st.sampled_from(("Home", None)),
            "time_on_page": st.one_of(st.none(), st.none(), _decimals(0, 60)),
            "interaction_count": st.sampled_from((None, 0, 3)),
            "load_time": st.sampled_from((None, 0, 120, 121, 1999)),
            "ttfb": st.sampled_from((None, 0, 31)),
            "dom_ready_time": st.sampled_from((None, 77)),
            "render_time": st.sampled_from((None, 5, 8)),
        }
    ),
    st.fixed_dictionaries(
        {
            "name": st.just("page_exit"),
            "time_on_page": _decimals(0.5, 4000),
            "scroll_depth": _decimals(0, 100),
        }
    ),
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(NAMES),
            "properties": st.sampled_from(PROPERTIES),
            "namespace": st.sampled_from((None, "billing")),
            "source": st.sampled_from((None, "server")),
            "profile_id": st.sampled_from((None, None, "p1")),
            "interactive": st.sampled_from((None, True, False)),
        }
    ),
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(("outbound_click", "outgoing_link", "link_out")),
            "outbound_domain": st.sampled_from(DOMAINS),
            "href": st.sampled_from(("https://x.example/1", "https://x.example/2", None)),
            "link_text": st.sampled_from(("more", "mehr ü", None)),
            "interactive": st.sampled_from((None, None, False)),
        }
    ),
)

_sources = st.tuples(st.sampled_from(SOURCES), st.sampled_from(CAMPAIGNS)).map(
    lambda pair: {**pair[0], **pair[1]}
)


def _both(parts: tuple[StoredRow, ...]) -> StoredRow:
    return {name: value for part in parts for name, value in part.items()}


OWN: Mapping[str, st.SearchStrategy[StoredRow]] = {
    EVENTS.name: st.tuples(_events, _sources).map(_both),
    ERRORS.name: st.fixed_dictionaries(
        {
            "message": st.sampled_from(MESSAGES),
            "error_type": st.sampled_from((None, "TypeError", "Error")),
            "filename": st.sampled_from((None, "https://shop.example/app.js")),
            "lineno": st.sampled_from((None, 0, 12)),
            "colno": st.sampled_from((None, 7)),
            "stack": st.sampled_from((None, "at f", "x" * 1600)),
            "level": st.just("error"),
        }
    ),
    VITALS.name: st.fixed_dictionaries(
        {
            "metric_name": st.sampled_from(VITAL_NAMES),
            "metric_value": _decimals(0.0001, 5000).map(lambda value: value or Decimal("0.1000")),
        }
    ),
    ENGAGEMENT.name: st.fixed_dictionaries(
        {
            "path": st.sampled_from(("/a", "/a", "/a/b", None)),
            "time_on_page": st.one_of(st.none(), _decimals(0, 60)),
            "active_time": st.one_of(st.none(), _decimals(0, 60)),
            "time_to_first_interaction": _decimals(0, 9000),
            "max_scroll_depth": _decimals(0, 100),
            "interaction_count": st.sampled_from((None, 0, 3)),
            "rage_click_count": st.sampled_from((None, 0, 1, 2)),
            "dead_click_count": st.sampled_from((None, 0, 4)),
            "rage_click_target": st.sampled_from((None, "", "#buy", "#büy")),
            "dead_click_target": st.sampled_from((None, "#logo", "img")),
            "form_field_count": st.sampled_from((None, 0, 2)),
            "form_submit_count": st.sampled_from((None, 0, 1)),
            "last_form_field": st.sampled_from((None, "", "email", "name")),
            "form_abandoned": st.sampled_from((None, False, True)),
            "error_count": st.sampled_from((None, 0, 1)),
        }
    ),
    IDENTITIES.name: st.fixed_dictionaries(
        {
            "profile_id": st.sampled_from(("p1", "p2")),
            "traits": st.sampled_from((None, '{"plan":"pro"}', '{"plan":"free"}', "{}")),
            "trusted": st.sampled_from((None, False, False, True)),
        }
    ),
    IMPORTED_TOTALS.name: st.fixed_dictionaries(
        {
            "dimension": st.sampled_from(("", "", "path")),
            "value": st.sampled_from(("/", "/a", None)),
            "product": st.sampled_from(("Plausible", "Plausible", "Fathom")),
            "import_id": st.just("i1"),
            **{
                count: st.sampled_from((None, 0, 3, 4, 7))
                for count in (
                    "visitors",
                    "visits",
                    "page_views",
                    "bounces",
                    "visit_seconds",
                    "events",
                )
            },
        }
    ),
    CLICKS.name: st.tuples(
        st.fixed_dictionaries(
            {
                "link_id": st.sampled_from(("go", "go", "go", "away")),
                "organization_id": st.just("acme"),
                "slug": st.just("go"),
            }
        ),
        st.sampled_from(SOURCES),
    ).map(_both),
}


class Traffic(list[Stored]):
    """Rows as they arrived; only a few of them are shown whole."""

    def __repr__(self) -> str:
        if len(self) > SHOWN:
            return f"{len(self)} rows"
        shown = [{k: v for k, v in row.values.items() if v is not None} for row in self]
        return f"{[(row.table.name, each) for row, each in zip(self, shown, strict=True)]}"


SHOWN = 8

SHARES = (
    *((EVENTS, 48), (ERRORS, 10), (VITALS, 16), (CLICKS, 12), (ENGAGEMENT, 16), (IDENTITIES, 5)),
    (IMPORTED_TOTALS, 12),
)
"""At most so many rows of each table."""


@st.composite
def traffic(draw: st.DrawFn, stage: Stage) -> Traffic:
    """Rows of all tables, as they arrived."""
    found = Traffic()
    for table, share in SHARES:
        most = draw(st.sampled_from((0, share, share)))
        found += draw(st.lists(rows(stage, table), min_size=most // 2, max_size=most))
    return found


@st.composite
def scenes_with_late_rows(
    draw: st.DrawFn, among: st.SearchStrategy[Stage] = stages
) -> tuple[Stage, Traffic, Traffic]:
    """A stage, its stored traffic, and what comes later."""
    stage = draw(among)
    return stage, draw(traffic(stage)), draw(traffic(stage))
