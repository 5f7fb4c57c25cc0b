"""Reports of a period, read and drawn once, as mails to recipients and messages to channels."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from query.dependencies import QueryDependencies
from query.notify.message import Fact, Message
from query.notify.saved_queries import SavedQuery, ask
from query.notify.unsubscribe import unsubscribe_url
from query.reports.charts import chart_of
from query.reports.content import Content, Rows, content_of
from query.reports.csv import report_csv
from query.reports.mail import Links, report_mail
from query.reports.pdf import report_pdf
from query.reports.schedule import Period, period_of
from query.reports.texts import change_of_figure, shown_name, shown_value, subject, summary
from schemas.mail.message import Attachment, Mail
from schemas.registry import Report, Website

CSV, PDF = "csv", "pdf"


class MadeReport(Struct, frozen=True):
    """A report that was read and drawn."""

    report: Report
    website: Website
    content: Content
    chart: bytes
    attachments: tuple[Attachment, ...]
    link: str
    """The dashboard, at the period of the report."""


async def read_report(
    dependencies: QueryDependencies, report: Report, period: Period
) -> tuple[Website, Content]:
    """The numbers of a report; ApiError."""
    registry = dependencies.registry
    website = registry.websites[report.website_id]
    saved = registry.saved.of_website(website.id)

    async def rows_of(
        language: str, query: Mapping[str, Any], periods: Sequence[Period]
    ) -> Sequence[Rows]:
        spans = [(one.start_ms, one.end_ms) for one in periods]
        return (await ask(dependencies, website, SavedQuery(language, query), spans)).rows

    return website, await content_of(rows_of, report, website, saved, period)


async def make_report(
    dependencies: QueryDependencies, report: Report, span: tuple[int, int]
) -> MadeReport:
    """The report about a span, which is a period of it; ApiError."""
    zone = dependencies.registry.websites[report.website_id].timezone
    period = period_of(*span, zone)
    website, content = await read_report(dependencies, report, period)
    made_ms = dependencies.clock()
    chart, attachments = await asyncio.to_thread(_draw, report, content, made_ms)
    link = dashboard_link(dependencies, website, period)
    return MadeReport(report, website, content, chart, attachments, link)


def dashboard_link(dependencies: QueryDependencies, website: Website, period: Period) -> str:
    """The overview of the dashboard at a period."""
    days = f"{period.first}..{period.last}"
    return f"{dependencies.access.query_url}/{website.id}/overview?period={days}"


def mail_of(
    dependencies: QueryDependencies, made: MadeReport, recipient: str, delivery_id: str
) -> Mail:
    """The mail to one recipient; sent again it has the same Message-ID."""
    url = unsubscribe_url(
        dependencies.access.query_url,
        dependencies.sign_ins,
        made.report.id,
        recipient,
        dependencies.clock(),
    )
    links = Links(made.link, url)
    return report_mail(recipient, made.content, links, made.chart, made.attachments, delivery_id)


def message_of(made: MadeReport, now_ms: int) -> Message:
    """What channels are told: the figures in words, and as members of a webhook's body."""
    content = made.content
    facts = []
    for figure in content.figures:
        change = change_of_figure(figure)
        value = shown_value(figure.value, figure.unit)
        facts.append(Fact(figure.label, f"{value} ({change.text})" if change else value))
    data = {
        "type": "report.sent",
        "reportId": made.report.id,
        "websiteId": made.website.id,
        "name": content.name,
        "startDate": str(content.period.first),
        "endDate": str(content.period.last),
        "timezone": content.zone,
        "figures": {
            figure.label: {"value": figure.value, "previous": figure.previous}
            for figure in content.figures
        },
    }
    return Message(
        event="report",
        title=subject(content),
        sentence=summary(content),
        facts=tuple(facts),
        link=made.link,
        website=shown_name(made.website.domain),
        data=data,
        occurred_at=now_ms,
    )


def file_name(content: Content, extension: str) -> str:
    """As `shop.example-2026-11-23.pdf`."""
    return f"{shown_name(content.website)}-{content.period.first}.{extension}"


def _draw(report: Report, content: Content, made_ms: int) -> tuple[bytes, tuple[Attachment, ...]]:
    chart = chart_of(content)
    if report.attach == CSV:
        data = report_csv(content)
        return chart, (Attachment(file_name(content, CSV), "text/csv", data),)
    if report.attach == PDF:
        data = report_pdf(content, chart, made_ms)
        return chart, (Attachment(file_name(content, PDF), "application/pdf", data),)
    return chart, ()
