"""Checks alerts: each once for every bucket of time, as soon as all events until its end are there.

The journey of one check: the bucket that the watermark has passed, the query over it and over what
it is compared with, the finding, and one transaction with the new state and what is to be told.
While data is late, an alert waits; after a pause only the newest complete bucket is checked.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from query.dependencies import QueryDependencies
from query.formats.result_table import declared_columns
from query.notify import spans
from query.notify.conditions import (
    Finding,
    against_earlier,
    against_threshold,
    against_usual,
    new_rows,
    nothing_arrived,
    number_in,
    shown,
)
from query.notify.saved_queries import SavedQuery, Span, SpanRows, ask, query_of
from query.notify.span_text import span_text
from query.request.subject import SubjectKind
from query.run.comparison import NUMBER_KINDS
from query.standard.comparison import key_fields
from query.standard.query_types import find_query_type
from schemas.errors import ApiError, Unavailable
from schemas.http.limit_counts import COLLECTOR
from schemas.plans import NO_LIMIT, Group, limit_for
from schemas.registry import Alert, Website
from schemas.registry.notices import (
    AlertState,
    NoticeEvent,
    RegistryNotices,
    Target,
    new_notice,
    targets_of,
)
from schemas.runtime.clock import parse_instant_ms

log = logging.getLogger(__name__)

GRACE_MS = 60_000
"""Events that reach the collector so long after the end of their bucket still count."""
RETRY_MS, MAX_RETRY_MS = 60_000, 15 * 60_000
"""After a check that failed: twice as long each time, as it may have taken all of its time."""
CONCURRENCY, OWNER_CONCURRENCY = 4, 2
"""Checks at a time, and those of one organization: its slow queries delay no other's."""
ROUND_SECONDS = 10.0
"""After which no check is begun."""
NEW_ROWS = 10_000
"""Rows that are compared to find new ones."""
MAX_PROBLEM_LENGTH = 1_000
FAILED = "The check failed; the log of the service says why"
SIGNAL_WORDS = {"freshness": "seconds late", "rate_limit": "percent of the rate limit"}


class Check(Struct, frozen=True):
    """One alert and one bucket of its website."""

    alert: Alert
    website: Website
    span: Span
    before: AlertState | None


class Alerts:
    """Checks the alerts of all websites; correct also when several processes do."""

    def __init__(self, dependencies: QueryDependencies, notices: RegistryNotices) -> None:
        self._dependencies = dependencies
        self._notices = notices
        self._next: dict[str, tuple[Alert, int]] = {}
        """Until when there is nothing to do for an alert as it is, in time of the watermark."""
        self._failures: dict[str, int] = {}
        """How often in a row the check of an alert failed."""
        self._now = 0
        """The clock at the last look."""

    async def check_due(self) -> int:
        """Check what is due; the number of checks."""
        due = list(self._due())
        if not due:
            return 0
        ids = [alert.id for alert, _, _ in due]
        states = await self._dependencies.in_registry(lambda: self._notices.alert_states(ids))
        turns = asyncio.Semaphore(CONCURRENCY)
        of_owner: dict[str, asyncio.Semaphore] = {}
        time = asyncio.get_running_loop().time
        ends = time() + ROUND_SECONDS
        checks = [Check(alert, site, span, states.get(alert.id)) for alert, site, span in due]

        async def in_turn(check: Check) -> None:
            owner = check.website.organization_id
            async with of_owner.setdefault(owner, asyncio.Semaphore(OWNER_CONCURRENCY)), turns:
                if time() >= ends:  # due in the next round, with what became due meanwhile
                    return
                try:
                    await self._check(check)
                except ApiError:  # the registry cannot be reached
                    raise
                except Exception:  # a fault of one must not stop all others
                    log.exception("alert not checked", extra={"alert": check.alert.id})
                    await self._note_problem(check, FAILED)

        await asyncio.gather(*map(in_turn, checks))
        return len(checks)

    def _due(self) -> Iterator[tuple[Alert, Website, Span]]:
        registry, now = self._dependencies.registry, self._dependencies.clock()
        if now < self._now - spans.MINUTE_MS:  # the clock was ahead
            self._next = {}
        self._now = now
        watermark = self._dependencies.freshness.newest_watermark()
        stored = None if watermark is None else watermark - GRACE_MS
        alerts: dict[str, tuple[Alert, int]] = {}
        for website_id, records in registry.saved.by_website.items():
            website = registry.websites.get(website_id)
            for alert in records.values():
                if not isinstance(alert, Alert) or website is None:
                    continue
                until = now if alert.signal else stored
                waiting = self._next.get(alert.id)
                if waiting is not None and waiting[0] == alert:
                    alerts[alert.id] = waiting
                    if until is None or until < waiting[1]:
                        continue
                if until is not None:
                    yield alert, website, _span(alert, website, until)
        self._next = alerts

    async def _check(self, check: Check) -> None:
        alert, span, before = check.alert, check.span, check.before
        latest = self._dependencies.clock() + spans.MINUTE_MS  # later ends are of a wrong clock
        if before is not None and span[1] <= before.checked_until <= latest:
            self._wait(check, _next_end(check))
            return
        try:
            finding = await self._find(check)
        except ApiError as error:
            await self._note_problem(check, error.message[:MAX_PROBLEM_LENGTH])
            return
        self._failures.pop(alert.id, None)
        if finding is None:  # the versions that were read are older than the watermark
            return
        after, event = _next_state(check, finding)
        now = self._dependencies.clock()
        notice = None
        if event is not None:
            content = _content(check, finding, event)
            notice = new_notice(
                event, check.website.id, span, now, alert_id=alert.id, content=content
            )
        targets = () if is_muted(alert, now) else self._targets(alert)
        due_at = spans.quiet_end(now, alert.quiet_hours, check.website.timezone)
        written = await self._dependencies.in_registry(
            lambda: self._notices.record_check(before, after, notice, targets, due_at)
        )
        if written and notice is not None:
            log.info("alert", extra={"alert": alert.id, "event": notice.event.value})
        self._wait(check, _next_end(check))

    def _targets(self, alert: Alert) -> Sequence[Target]:
        saved = self._dependencies.registry.saved.of_website(alert.website_id)
        return targets_of(alert, saved.by_id)

    async def _find(self, check: Check) -> Finding | None:
        """The finding; None while not all events of the bucket can be read."""
        alert = check.alert
        if alert.signal is not None:
            return against_threshold(alert, await self._signal(check))
        all_spans = [check.span, *_compared(check)]
        span_rows = await ask(self._dependencies, check.website, _query(alert), all_spans)
        if span_rows.watermark_ms is None or span_rows.watermark_ms < check.span[1]:
            return None
        return _judged(check, span_rows)

    async def _signal(self, check: Check) -> float | None:
        dependencies, website = self._dependencies, check.website
        if check.alert.signal == "freshness":
            watermark = dependencies.freshness.newest_watermark()
            return None if watermark is None else (dependencies.clock() - watermark) / 1000
        owner = dependencies.registry.organizations[website.organization_id]
        limit = limit_for(owner.plan, Group.COLLECT, owner.limits)
        try:
            usage = await dependencies.limit_usage.read(COLLECTOR, [(Group.COLLECT, website.id)])
        except OSError:
            raise Unavailable("The counts of the rate limits cannot be read") from None
        [counted] = usage.counts
        shares = [(counted.requests, limit.requests), (counted.items, limit.items)]
        limited = [used / most * 100 for used, most in shares if most not in (0, NO_LIMIT)]
        return max(limited, default=0.0)

    async def _note_problem(self, check: Check, problem: str) -> None:
        """Show why it is not checked, and try again."""
        alert, before = check.alert, check.before
        after = (
            AlertState(alert.id, check.span[0], problem=problem)
            if before is None
            else structs.replace(before, problem=problem)
        )
        if after != before:
            log.warning("alert not checked", extra={"alert": alert.id, "reason": problem})
            await self._dependencies.in_registry(lambda: self._notices.record_check(before, after))
        failures = self._failures.get(alert.id, 0)
        self._failures[alert.id] = failures + 1
        retry_ms = min(RETRY_MS << min(failures, 10), MAX_RETRY_MS)
        self._wait(check, self._time(alert) + retry_ms)

    def _time(self, alert: Alert) -> int:
        """Until when everything is stored, or now for an alert about the service itself."""
        now = self._dependencies.clock()
        watermark = self._dependencies.freshness.newest_watermark()
        return now if alert.signal else (watermark or now) - GRACE_MS

    def _wait(self, check: Check, until: int) -> None:
        """Nothing to do before the watermark reaches the end of another bucket, or a retry."""
        self._next[check.alert.id] = (check.alert, until)


def is_muted(alert: Alert, now_ms: int) -> bool:
    """Whether nobody is told what it finds."""
    return alert.muted_until is not None and parse_instant_ms(alert.muted_until) > now_ms


def _span(alert: Alert, website: Website, until: int) -> Span:
    if alert.signal is not None:
        end = until // spans.MINUTE_MS * spans.MINUTE_MS
        return end - spans.MINUTE_MS, end
    return spans.last_complete(until, alert.every, website.timezone)


def _next_end(check: Check) -> int:
    """The end of the next bucket."""
    if check.alert.signal is not None:
        return check.span[1] + spans.MINUTE_MS
    return spans.next_end(check.span, check.alert.every, check.website.timezone)


def _compared(check: Check) -> Sequence[Span]:
    """The spans that the bucket is compared with."""
    alert, span, zone = check.alert, check.span, check.website.timezone
    match alert.condition:
        case "rises" | "falls" if alert.against == "week":
            return [spans.week_before(span, zone)]
        case "rises" | "falls":
            return [spans.previous(span, alert.every, zone)]
        case "spike" | "drop":
            return spans.usual(span, alert.every, zone)
        case "new":
            return [spans.before(span, zone)]
    return []


def _query(alert: Alert) -> SavedQuery:
    """Its query; of all rows where new ones are looked for: what is left out once seems new."""
    query = query_of(alert)
    if alert.condition != "new":
        return query
    body = {**query.body, "limit": _most_rows(query), "page": 1}
    if "parameters" in body:
        body["parameters"] = [_without_page(parameter) for parameter in body["parameters"]]
    return structs.replace(query, body=body)


def _most_rows(query: SavedQuery) -> int:
    """How many rows are compared to find new ones."""
    if query.language != "standard_query":
        return NEW_ROWS
    [parameter] = query.body["parameters"]
    name = parameter if isinstance(parameter, str) else parameter["name"]
    return min(NEW_ROWS, find_query_type(name, SubjectKind.WEBSITE).max_limit)


def _measure(query: SavedQuery) -> str | None:
    """The first number of a standard query that tells no rows from each other, as a step does.

    None for the other languages, whose first number it is.
    """
    if query.language != "standard_query":
        return None
    parameter = query.body["parameters"][0]
    name = parameter if isinstance(parameter, str) else parameter["name"]
    query_type = find_query_type(name, SubjectKind.WEBSITE)
    fields, columns = query_type.row.__struct_fields__, declared_columns(query_type.row)
    keys = key_fields(query_type)
    return next(
        (
            column.name
            for field, column in zip(fields, columns, strict=True)
            if column.kind in NUMBER_KINDS and field not in keys
        ),
        None,
    )


def _without_page(parameter: str | Mapping[str, Any]) -> str | Mapping[str, Any]:
    if isinstance(parameter, str):
        return parameter
    return {name: value for name, value in parameter.items() if name not in ("limit", "page")}


def _judged(check: Check, span_rows: SpanRows) -> Finding:
    alert = check.alert
    current, *earlier_rows = span_rows.rows
    if alert.condition == "new":
        most = _most_rows(query_of(alert))
        if len(earlier_rows[0]) >= most:
            raise Unavailable(
                f"The {spans.NEW_DAYS} days before have {most:,} rows or more; use fewer "
                "dimensions, or filters"
            )
        return new_rows(current, earlier_rows[0], span_rows.groups)
    try:
        column = alert.column or _measure(query_of(alert))
        value, *earlier = (number_in(rows, column) for rows in span_rows.rows)
    except KeyError:
        names = ", ".join(current[0]) if current else "none"
        raise Unavailable(
            f"'column' is '{alert.column}', which the result has not; it has {names}"
        ) from None
    except ValueError:
        raise Unavailable(f"'column' is '{alert.column}', which is no number") from None
    match alert.condition:
        case "nothing":
            return nothing_arrived(value)
        case "rises" | "falls":
            return against_earlier(alert, value, earlier[0])
        case "spike" | "drop":
            return against_usual(alert, value, _since_first_event(earlier, check))
    return against_threshold(alert, value)


def _since_first_event(history: Sequence[float | None], check: Check) -> Sequence[float]:
    """Values from the newest to the oldest, without those from before the first event.

    Zeros count from the creation of the website; imported events may be older.
    """
    values, created_at = [value or 0.0 for value in history], check.website.created_at
    starts = [start for start, _ in _compared(check)]
    while values and values[-1] == 0 and starts[len(values) - 1] < created_at:
        values.pop()
    return values


def _next_state(check: Check, finding: Finding) -> tuple[AlertState, NoticeEvent | None]:
    """The state after a check, and what is to be told.

    Buckets that ended before the alert was made are shown, and tell nothing.
    """
    alert, span, before = check.alert, check.span, check.before
    since = before.firing_since if before is not None else None
    event = None
    if span[1] <= alert.created_at or finding.fires is None:
        pass
    elif alert.condition == "new":
        event = NoticeEvent.FIRED if finding.fires else None
    elif finding.fires and since is None:
        event, since = NoticeEvent.FIRED, span[0]
    elif not finding.fires and since is not None:
        event, since = (NoticeEvent.RECOVERED if alert.recovery else None), None
    problem = finding.words if finding.fires is None else ""
    return AlertState(alert.id, span[1], since, finding.value, problem), event


def _content(check: Check, finding: Finding, event: NoticeEvent) -> dict[str, object]:
    alert = check.alert
    when = span_text(check.span, check.website.timezone)
    value = "no number" if finding.value is None else shown(finding.value)
    text = f"{value} {_watched(alert)} {when}"
    if alert.condition == "new" and event is NoticeEvent.FIRED:
        text = f"{value} new {when}: {finding.words}"
    elif finding.words and not (alert.condition == "nothing" and finding.value):
        text = f"{text}; {finding.words}"
    return {
        "value": finding.value,
        "reference": finding.reference,
        "text": text,
        "rows": list(finding.rows),
    }


def _watched(alert: Alert) -> str:
    """What the number counts, as `page views`."""
    if alert.signal is not None:
        return SIGNAL_WORDS[alert.signal]
    query = query_of(alert)
    body = query.body
    selected: Any = (
        alert.column
        or _measure(query)
        or next(
            iter(body.get("metrics") or body.get("query", {}).get("selects") or body["parameters"])
        )
    )
    if not isinstance(selected, str):
        names = ("as", "alias", "metric", "name", "aggregate")
        selected = next((selected[name] for name in names if selected.get(name)), "")
    return str(selected).replace("_", " ")
