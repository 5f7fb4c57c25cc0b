"""Sessions and visitors one by one, with their events."""

from fractions import Fraction
from typing import Any

from tests.oracle.aggregates import ResultRow, distinct, grouped, named, ordered, rounded, views
from tests.oracle.oracle import Oracle, Oracles
from tests.oracle.profiles import PROFILE, TRAITS
from tests.oracle.query import ScopedRows
from tests.oracle.sessions import Session, sessions
from tests.oracle.stored_rows import Row, event_order
from tests.oracle.types.events import is_custom, kind
from tests.oracle.types.top_lists import tagged_source
from tests.oracle.wall_clock import iso


def event_id(row: Row) -> str:
    """Its sender's id, or where it came from."""
    where = f"{row['kafka_partition']}-{row['kafka_offset']}-{row['seq']}"
    return row.get("event_id") or where


def referrer(row: Row) -> Any:
    """Who referred, if that is known."""
    return row.get("referrer_name") or row.get("referrer")


def visit_referrer(row: Row) -> Any:
    """Who referred the visit, if that is known."""
    return row["visit.referrer_name"] or row["visit.referrer"]


def of_visit(row: Row, *names: str) -> ResultRow:
    """Some facts of the visit."""
    return {name: row[f"visit.{name}"] for name in names}


def events(session: Session) -> list[Any]:
    """The first 200 events of a session."""
    return [
        [event_id(row), iso(row["ms"]), row["name"], row.get("path"), row.get("properties")]
        for row in session.events[:200]
    ]


def session_list(scoped: ScopedRows) -> list[ResultRow]:
    result: list[ResultRow] = [
        {
            "session_id": (first := session.views[0])["session_id"],
            "first_visit": iso(session.events[0]["ms"]),
            "last_visit": iso(session.events[-1]["ms"]),
            "duration": seconds(session.milliseconds),
            "page_views": len(session.views),
            "visitor_id": first["device"],
            "country": first["visit.country"],
            "referrer": visit_referrer(first),
            **of_visit(first, "device_type", "browser_name", "os_name"),
            "source": tagged_source(first),
            "events": events(session),
        }
        for session in sessions(scoped.visit_events)
    ]
    return ordered(result, "-first_visit", "session_id")


def interesting(scoped: ScopedRows) -> list[ResultRow]:
    errors = grouped(scoped.rows("errors", filtered=False), lambda row: row["session_id"])
    result: list[ResultRow] = []
    for session in sessions(scoped.visit_events):
        first = session.views[0]
        paths = {row["path"] for row in session.views if row.get("path") is not None}
        away = [row for row in session.events if row.get("outbound_domain") is not None]
        customs = [row for row in session.events if is_custom(row)]
        failed = len(errors.get(first["session_id"], []))
        result.append(
            {
                "session_id": first["session_id"],
                "visitor_id": first["device"],
                "first_visit": iso(session.events[0]["ms"]),
                "last_visit": iso(session.events[-1]["ms"]),
                "duration_seconds": session.milliseconds // 1000,
                "page_views": len(session.views),
                "unique_pages": len(paths),
                "analytics_engagement_events": len(away),
                "custom_events": len(customs),
                "errors": failed,
                "paths": sorted(paths),
                "custom_event_names": sorted({row["name"] for row in customs}),
                "country": first["visit.country"],
                "referrer": visit_referrer(first),
                **of_visit(first, "device_type", "browser_name", "os_name"),
                "interesting_score": min(len(session.views), 10) * 2
                + min(len(paths), 8) * 3
                + min(len(away) + len(customs), 20)
                + min(failed, 10) * 2
                + (5 if session.milliseconds >= 120_000 else 0),
            }
        )
    return ordered(result, "-interesting_score", "-last_visit", "session_id")


def session_events(scoped: ScopedRows) -> list[ResultRow]:
    return [
        {
            "session_id": row["session_id"],
            "event_id": event_id(row),
            "time": iso(row["ms"]),
            "event_name": row["name"],
            **named(row, "path", "properties", "device_type", "browser_name", "country"),
            "kind": kind(row),
            "href": row.get("href"),
        }
        for row in scoped.events
        if row["session_id"] is not None
    ]


def visits_of(scoped: ScopedRows, who: str) -> int:
    """The visits of a visitor, which have a page view by them."""
    viewed = views(scoped.visit_events)
    return distinct([row for row in viewed if row["anonymous_id"] == who], "session_id")


def profile_list(scoped: ScopedRows) -> list[ResultRow]:
    return profiles(scoped, scoped.events)


def profiles(scoped: ScopedRows, events: list[Row]) -> list[ResultRow]:
    """Visitors with these events."""
    result: list[ResultRow] = []
    for who, held in grouped(events, lambda row: row["anonymous_id"]).items():
        viewed = views(held)
        newest = viewed[-1] if viewed else {}
        customs = [row for row in held if is_custom(row)]
        profile = profile_of(held)
        result.append(
            {
                "visitor_id": min(row["device"] for row in held),
                "profile_id": profile["profile_id"],
                "first_visit": iso(held[0]["ms"]),
                "last_visit": iso(held[-1]["ms"]),
                "session_count": visits_of(scoped, who),
                "total_events": len(held),
                "page_views": len(viewed),
                "unique_pages": distinct(viewed, "path"),
                **named(newest, "country", "region", "device_type", "browser_name", "os_name"),
                "referrer": referrer(viewed[0]) if viewed else None,
                "custom_event_count": len(customs),
                "unique_event_names": distinct(customs, "name"),
                "traits": profile["traits"],
            }
        )
    return ordered(result, "-last_visit", "visitor_id")


def profile_of(held: list[Row]) -> ResultRow:
    """Profile id and traits of a visitor; without an identity the id that came with events."""
    trusted = [row["profile_id"] for row in held if row.get("trusted")]
    sent = trusted or [row.get("profile_id") for row in held]
    named_by_events = max((each for each in sent if each is not None), default=None)
    return {
        "profile_id": held[0][PROFILE] or named_by_events,
        "traits": held[0][TRAITS],
    }


def spoken(milliseconds: int) -> str:
    """Hours, minutes and seconds."""
    minutes, seconds = divmod(milliseconds // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "m"), (seconds, "s"))
    return " ".join(f"{number}{unit}" for number, unit in parts if number) or "0s"


def seconds(milliseconds: int) -> float:
    """Seconds with two decimals."""
    return rounded(Fraction(milliseconds, 1000))


def profile_detail(scoped: ScopedRows) -> list[ResultRow]:
    result: list[ResultRow] = []
    found = sessions(scoped.visit_events)
    for who, held in grouped(scoped.events, lambda row: row["anonymous_id"]).items():
        viewed = views(held)
        newest = viewed[-1] if viewed else {}
        own = {row["session_id"] for row in held}
        together = sum(each.milliseconds for each in found if each.events[0]["session_id"] in own)
        result.append(
            {
                "visitor_id": min(row["device"] for row in held),
                "first_visit": iso(held[0]["ms"]),
                "last_visit": iso(held[-1]["ms"]),
                "total_sessions": visits_of(scoped, who),
                "total_pageviews": len(viewed),
                "total_duration": seconds(together),
                "total_duration_formatted": spoken(together),
                "device": newest.get("device_type"),
                "browser": newest.get("browser_name"),
                "os": newest.get("os_name"),
                **named(newest, "country", "region"),
                **profile_of(held),
            }
        )
    return result


def profile_sessions(scoped: ScopedRows) -> list[ResultRow]:
    """Newest first; called by their number from the oldest."""
    vitals = grouped(scoped.of_visitors("vitals"), lambda row: row["session_id"])
    found = sorted(
        sessions(scoped.visit_events),
        key=lambda each: (each.events[0]["ms"], each.events[0]["session_id"]),
    )
    result: list[ResultRow] = []
    for number, session in enumerate(found, 1):
        first = session.views[0]
        result.append(
            {
                "session_id": first["session_id"],
                "session_name": f"Session {number}",
                "first_visit": iso(session.events[0]["ms"]),
                "last_visit": iso(session.events[-1]["ms"]),
                "duration": seconds(session.milliseconds),
                "duration_formatted": spoken(session.milliseconds),
                "page_views": len(session.views),
                "unique_pages": distinct(session.views, "path"),
                "device": first["visit.device_type"],
                "browser": first["visit.browser_name"],
                "os": first["visit.os_name"],
                **of_visit(first, "country", "region"),
                "referrer": visit_referrer(first),
                "events": events(session),
                "web_vitals": [
                    [iso(row["ms"]), row["metric_name"], float(row["metric_value"]), row["path"]]
                    for row in vitals.get(first["session_id"], [])
                ],
            }
        )
    return ordered(result, "-first_visit", "session_id")


def timeline(scoped: ScopedRows) -> list[ResultRow]:
    """Events, then errors of the same instant."""
    moments = [((row["ms"], 0, event_order(row)), moment(row)) for row in scoped.events]
    moments += [((row["ms"], 1, event_order(row)), failure(row)) for row in scoped.errors]
    return [row for _, row in sorted(moments, key=lambda pair: pair[0])]


def moment(row: Row) -> ResultRow:
    """An event of a timeline."""
    return {
        "time": iso(row["ms"]),
        "kind": kind(row),
        "name": row.get("href") or row["name"],
        **named(row, "path", "session_id", "properties"),
        "referrer": referrer(row),
        "anonymous_id": row["device"],
    }


def failure(row: Row) -> ResultRow:
    """An error of a timeline."""
    return {
        "time": iso(row["ms"]),
        "kind": "error",
        "name": row["message"],
        **named(row, "path", "session_id"),
        "properties": None,
        "referrer": None,
        "anonymous_id": row["device"],
    }


SESSION_LISTS: Oracles = {
    "session_list": Oracle(session_list, 25),
    "interesting_sessions": Oracle(interesting, 10),
    "session_events": Oracle(session_events, 500),
    "profile_list": Oracle(profile_list, 25),
    "profile_detail": Oracle(profile_detail),
    "profile_sessions": Oracle(profile_sessions),
    "visitor_timeline": Oracle(timeline, 500),
}
