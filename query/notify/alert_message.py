"""What an alert tells: title, sentence and facts from the numbers of its notice."""

from query.dependencies import QueryDependencies
from query.metrics.metrics import BY_NAME
from query.notify.message import Fact, Message
from query.notify.span_text import span_text
from query.reports.texts import one_line, without_links
from schemas.registry import Alert, Website
from schemas.registry.notices import Notice, NoticeEvent
from schemas.runtime.clock import format_instant

TITLES = {
    NoticeEvent.FIRED: "{name}",
    NoticeEvent.RECOVERED: "Over: {name}",
    NoticeEvent.TEST: "Test: {name}",
}
VIEWS = {"errors": "errors", "web_vitals": "vitals"}
"""Views of the dashboard by the table that they are about."""
TEST_SENTENCE = "This is a test: the alert has not fired, and its channels and recipients work."


def alert_message(
    dependencies: QueryDependencies, alert: Alert, website: Website, notice: Notice
) -> Message:
    """The message of a notice of an alert."""
    name, domain = alert.name, website.name or website.domain
    # Names in it come from visitors: nothing makes a link of them, or turns the text around.
    text = without_links(one_line(str(notice.content.get("text", "")))).rstrip(".")
    is_test = notice.event is NoticeEvent.TEST
    sentence = TEST_SENTENCE if is_test else f"{text}."
    when = span_text((notice.start_at, notice.end_at), website.timezone)
    facts = [Fact("Website", website.domain)]
    if not is_test:
        facts += [
            Fact("Condition", condition_text(alert)),
            Fact("When", f"{when} ({website.timezone})"),
        ]
    return Message(
        event=notice.event.value,
        title=f"{TITLES[notice.event].format(name=name)} · {domain}",
        sentence=sentence,
        facts=tuple(facts),
        link=f"{dependencies.access.query_url}/{website.id}/{_view(alert)}",
        website=website.domain,
        data={
            "type": f"alert.{notice.event.value}",
            "alert": {"id": alert.id, "name": alert.name, "condition": alert.condition},
            "website": {"id": website.id, "domain": website.domain},
            "start": format_instant(notice.start_at),
            "end": format_instant(notice.end_at),
            **{key: notice.content.get(key) for key in ("value", "reference", "rows")},
        },
        occurred_at=notice.created_at,
    )


def _view(alert: Alert) -> str:
    """The view of the dashboard that has the numbers, as far as one is about them."""
    if alert.signal is not None:
        return "setup?part=alerts"
    terms = (alert.metrics_query or {}).get("metrics") or []
    names = [term if isinstance(term, str) else str(term.get("metric")) for term in terms]
    if any(name.startswith("conversion") for name in names):
        return "goals"
    tables = {table.name for name in names if name in BY_NAME for table in BY_NAME[name].tables}
    return next((view for table, view in VIEWS.items() if table in tables), "overview")


def condition_text(alert: Alert) -> str:
    """As `above 10`, `falls by 50 % against the week before`."""
    threshold = "" if alert.threshold is None else f"{alert.threshold:g}"
    match alert.condition:
        case "above" | "below":
            return f"{alert.condition} {threshold}"
        case "rises" | "falls":
            reference = (
                "the same time a week earlier" if alert.against == "week" else "the time before"
            )
            return f"{alert.condition} by {threshold or 50} % against {reference}"
        case "spike" | "drop":
            return f"a {alert.condition} beyond the usual range ({threshold or 3} deviations)"
        case "new":
            return "something new"
    return "nothing arrived"
