"""Requests about one report: preview, send, history; and the state beside each in a list."""

import asyncio
import base64
import re
from collections.abc import Mapping, Sequence

from msgspec import structs
from starlette.responses import Response

from query.dependencies import QUERY_ERRORS
from query.notify.report_mails import dashboard_link, file_name, read_report
from query.notify.reports_due import report_notice
from query.reports.charts import chart_of
from query.reports.content import Content
from query.reports.csv import report_csv
from query.reports.mail import Links, report_html, report_text
from query.reports.pdf import report_pdf
from query.reports.schedule import Period, Schedule, last_period
from query.resources.notices import (
    WRITES,
    NoticeResponse,
    history_action,
    tell_now,
)
from query.resources.report_state import report_state
from query.resources.resource import Action, Call
from query.response.json_response import json_response, uncached
from schemas.errors import Conflict, Malformed
from schemas.http import openapi
from schemas.http.auth import authorize_website
from schemas.plans import Group
from schemas.registry import Report
from schemas.registry.notices import targets_of

FORMATS = {
    "html": "text/html; charset=utf-8",
    "text": "text/plain; charset=utf-8",
    "pdf": "application/pdf",
    "csv": "text/csv; charset=utf-8",
}
POLICY = (
    "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; img-src data:; "
    "style-src 'unsafe-inline'; frame-ancestors 'self'"
)
FORMAT_PARAMETER = openapi.Parameter(
    "format", "form of the report", {"type": "string", "enum": list(FORMATS), "default": "html"}
)


async def states(call: Call, reports: Sequence[Report]) -> Mapping[str, Mapping[str, object]]:
    """The member `state` of reports, by id."""
    notices, ids = call.dependencies.store.notices(), [report.id for report in reports]
    sent = await call.dependencies.in_registry(lambda: notices.last_of_reports(ids))
    return {
        report.id: {
            "state": report_state(report, _zone(call, report), sent.get(report.id), call.now_ms)
        }
        for report in reports
    }


async def preview(call: Call, report: Report) -> Response:
    """GET: the report about the last period that is over, as it would be sent."""
    form = call.parameters.get("format", "html")
    if form not in FORMATS:
        raise Malformed(f"'format' is '{form[:40]}'; use one of {', '.join(FORMATS)}")
    period = _last_period(call, report)
    website, content = await read_report(call.dependencies, report, period)
    links = Links(dashboard_link(call.dependencies, website, period))
    body = await asyncio.to_thread(_encoded, form, content, links, call.now_ms)
    response = uncached(Response(body, media_type=FORMATS[form]))
    response.headers["content-security-policy"] = POLICY
    response.headers["content-disposition"] = _disposition(content, form)
    return response


async def send(call: Call, report: Report) -> Response:
    """POST: tell recipients and channels of the last period that is over; again, if they were."""
    saved = call.dependencies.registry.saved.of_website(report.website_id)
    targets = targets_of(report, saved.by_id)
    if not targets:
        raise Conflict("The report has no recipients and no channels; add some, then retry")
    period, now = _last_period(call, report), call.now_ms
    notice = report_notice(report, period, now, once=False)
    return json_response(await tell_now(call, report, notice, targets))


def _last_period(call: Call, report: Report) -> Period:
    return last_period(Schedule(report.schedule), _zone(call, report), call.now_ms)


def _zone(call: Call, report: Report) -> str:
    registry = call.dependencies.registry
    return authorize_website(registry, call.key, report.website_id).timezone


def _encoded(form: str, content: Content, links: Links, now_ms: int) -> bytes:
    if form == "csv":
        return report_csv(content)
    if form == "text":
        return report_text(content, links).encode()
    chart = chart_of(content)
    if form == "pdf":
        return report_pdf(content, chart, now_ms)
    url = f"data:image/png;base64,{base64.b64encode(chart).decode()}"
    return report_html(content, links, url).encode()


def _disposition(content: Content, form: str) -> str:
    kind = "attachment" if form == "csv" else "inline"
    name = re.sub("[^A-Za-z0-9._-]+", "-", file_name(content, "txt" if form == "text" else form))
    return f'{kind}; filename="{name}"'


ACTIONS = (
    Action(
        access=structs.replace(WRITES, group=Group.QUERY),
        run=preview,
        method="GET",
        path="/preview",
        operation_id="previewReport",
        summary="Show a report about the last period that is over",
        description="As recipients get it, without the link to unsubscribe. The HTML has its "
        "chart as a `data:` URL.",
        parameters=(FORMAT_PARAMETER,),
        response=openapi.Response(
            200,
            "the report",
            media_types=("text/html", "text/plain", "application/pdf", "text/csv"),
        ),
        errors=QUERY_ERRORS,
    ),
    Action(
        access=WRITES,
        run=send,
        path="/send",
        operation_id="sendReport",
        summary="Send a report about the last period that is over",
        description="To its recipients and channels, also to those who have it already, and while "
        "it is paused. The key needs `write:records` or `manage:websites`, and `read:data`. 409 "
        "when the report has neither. `GET …/history` shows what became of the deliveries.",
        response=openapi.Response(200, "the notice", NoticeResponse),
        errors=(Conflict,),
    ),
    history_action(
        "listReportHistory", "List what a report sent, newest first, with each delivery"
    ),
)
"""Requests about one report beside those of every saved record."""
