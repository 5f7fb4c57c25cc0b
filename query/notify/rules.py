"""Checks alerts: each once for every bucket of time, as soon as all events until its end are there.

The journey of one check: the bucket that the watermark has passed, the query over it and over what
it is compared with, the finding, and one transaction with the new state and what is to be told.
While data is late, an alert waits; after a pause only the newest complete bucket is checked.
"""

import asyncio
import logging
from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from query.dependencies import QueryDependencies
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
from query.notify.questions import Answer, Question, Span, ask, question_of
from query.notify.span_text import span_text
from schemas.errors import ApiError, Unavailable
from schemas.http.limit_counts import COLLECTOR
from schemas.plans import NO_LIMIT, Group, limit_for
from schemas.registry import Alert, Channel, Report, Website
from schemas.registry.notices import (
    EMAIL,
    AlertState,
    NoticeEvent,
    RegistryNotices,
    Target,
    new_notice,
)
from schemas.runtime.clock import parse_instant_ms

log = logging.getLogger(__name__)

GRACE_MS = 60_000
"""Events that reach the collector so long after the end of their bucket still count."""
RETRY_MS = 60_000
"""After a check that failed."""
CONCURRENCY = 4
NEW_ROWS = 10_000
"""Rows that are compared to find new ones."""
MAX_PROBLEM_LENGTH = 1_000
FAILED = "The check failed; the log of the service says why"


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

    async def check_due(self) -> int:
        """Check what is due; the number of checks."""
        due = list(self._due())
        if not due:
            return 0
        ids = [alert.id for alert, _, _ in due]
        states = await self._dependencies.in_registry(lambda: self._notices.alert_states(ids))
        turns = asyncio.Semaphore(CONCURRENCY)
        checks = [Check(alert, site, span, states.get(alert.id)) for alert, site, span in due]

        async def in_turn(check: Check) -> None:
            async with turns:
                await self._check(check)

        await asyncio.gather(*map(in_turn, checks))
        return len(checks)

    def _due(self) -> Iterator[tuple[Alert, Website, Span]]:
        registry, now = self._dependencies.registry, self._dependencies.clock()
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
                if waiting is not None and waiting[0] is alert:
                    alerts[alert.id] = waiting
                    if until is None or until < waiting[1]:
                        continue
                if until is not None:
                    yield alert, website, _span(alert, website, until)
        self._next = alerts

    async def _check(self, check: Check) -> None:
        alert, span, before = check.alert, check.span, check.before
        if before is not None and before.checked_until >= span[1]:
            self._wait(check, _next_end(check))
            return
        try:
            finding = await self._find(check)
        except ApiError as error:
            await self._note_problem(check, error.message[:MAX_PROBLEM_LENGTH])
            return
        except Exception:  # one alert must not end all others
            log.exception("alert failed", extra={"alert": alert.id})
            await self._note_problem(check, FAILED)
            return
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
        targets = targets_of(self._dependencies, alert, alert.muted_until)
        due_at = spans.quiet_end(now, alert.quiet_hours, check.website.timezone)
        written = await self._dependencies.in_registry(
            lambda: self._notices.record_check(before, after, notice, targets, due_at)
        )
        if written and notice is not None:
            log.info("alert", extra={"alert": alert.id, "event": notice.event.value})
        self._wait(check, _next_end(check))

    async def _find(self, check: Check) -> Finding | None:
        """The finding; None while not all events of the bucket can be read."""
        alert = check.alert
        if alert.signal is not None:
            return against_threshold(alert, await self._signal(check))
        asked = [check.span, *_compared(check)]
        answer = await ask(self._dependencies, check.website, _question(alert), asked)
        if answer.watermark_ms is None or answer.watermark_ms < check.span[1]:
            return None
        return _judged(alert, answer)

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
        before = check.before
        after = (
            AlertState(check.alert.id, check.span[0], problem=problem)
            if before is None
            else structs.replace(before, problem=problem)
        )
        if after != before:
            log.warning("alert not checked", extra={"alert": check.alert.id, "reason": problem})
            await self._dependencies.in_registry(lambda: self._notices.record_check(before, after))
        now = self._dependencies.clock()
        watermark = self._dependencies.freshness.newest_watermark() or now
        self._wait(check, (now if check.alert.signal else watermark - GRACE_MS) + RETRY_MS)

    def _wait(self, check: Check, until: int) -> None:
        """Nothing to do before the watermark reaches the end of another bucket, or a retry."""
        self._next[check.alert.id] = (check.alert, until)


def targets_of(
    dependencies: QueryDependencies, record: Alert | Report, muted_until: str | None = None
) -> Sequence[Target]:
    """Whom an alert or a report tells now: recipients, and channels that its website has."""
    if muted_until is not None and parse_instant_ms(muted_until) > dependencies.clock():
        return ()
    saved = dependencies.registry.saved.of_website(record.website_id).by_id
    channels = [saved.get(name) for name in record.channels]
    return (
        *(Target(EMAIL, address) for address in record.recipients),
        *(Target(one.kind, one.id) for one in channels if isinstance(one, Channel)),
    )


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


def _question(alert: Alert) -> Question:
    question = question_of(alert)
    if alert.condition != "new" or "limit" in question.body:
        return question
    if question.language == "standard_query":
        return question
    return structs.replace(question, body={**question.body, "limit": NEW_ROWS})


def _judged(alert: Alert, answer: Answer) -> Finding:
    current, *others = answer.rows
    if alert.condition == "new":
        return new_rows(current, others[0], answer.groups)
    try:
        value, *earlier = (number_in(rows, alert.column) for rows in answer.rows)
    except KeyError:
        names = ", ".join(current[0]) if current else "none"
        raise Unavailable(
            f"'column' is '{alert.column}', which the result has not; it has {names}"
        ) from None
    match alert.condition:
        case "nothing":
            return nothing_arrived(value)
        case "rises" | "falls":
            return against_earlier(alert, value, earlier[0])
        case "spike" | "drop":
            return against_usual(alert, value, _since_first_event(earlier))
    return against_threshold(alert, value)


def _since_first_event(history: Sequence[float | None]) -> Sequence[float]:
    """Values from the newest to the oldest, without those from before the first event."""
    values = [value or 0.0 for value in history]
    while values and values[-1] == 0:
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
    return AlertState(alert.id, span[1], since, finding.value), event


def _content(check: Check, finding: Finding, event: NoticeEvent) -> dict[str, object]:
    alert = check.alert
    when = span_text(check.span, check.website.timezone)
    value = "no number" if finding.value is None else shown(finding.value)
    if alert.condition == "new" and event is NoticeEvent.FIRED:
        text = f"{value} new {when}: {finding.words}"
    elif finding.words and not (alert.condition == "nothing" and finding.value):
        text = f"{value} {when}; {finding.words}"
    else:
        text = f"{value} {when}"
    return {
        "value": finding.value,
        "reference": finding.reference,
        "text": text,
        "rows": list(finding.rows),
    }
