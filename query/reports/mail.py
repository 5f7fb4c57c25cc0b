"""The mail of a report, as HTML and as text.

Mail programs read little CSS: the HTML is tables with inline styles, 600 pixels wide and narrower
where the window is. Nothing is loaded from a server; the chart is a part of the mail. Names come
from strangers: they are escaped, and no program makes a link of one.
"""

from collections.abc import Sequence
from html import escape
from textwrap import wrap
from urllib.parse import urlsplit

from msgspec import Struct

from query.metrics.metric import Unit
from query.reports.charts import SHOWN_WIDTH
from query.reports.content import Content, Figure, Row, Table
from query.reports.texts import (
    WORDS,
    Change,
    alt_text,
    change_of_figure,
    change_of_row,
    has_changes,
    period_text,
    point_text,
    series_title,
    shown_name,
    shown_value,
    subject,
    summary,
    without_links,
)
from schemas.mail.layout import BRAND, FONT, GROUND, INK, LINE, MUTED, PAPER, PRODUCT
from schemas.mail.message import Attachment, InlineImage, Mail

CHART_ID = "chart"
BETTER, WORSE = "#176b3c", "#b02a37"
TABLE = 'role="presentation" cellpadding="0" cellspacing="0" border="0"'
TEXT_WIDTH = 72
FILTERED = "Filters apply: these are not all visits of the website."
UNSUBSCRIBE = "Stop these mails"


class Links(Struct, frozen=True):
    """Where a mail leads to."""

    dashboard: str
    unsubscribe: str = ""
    """Ends the mails to this recipient; empty: none, as in a preview."""


def report_mail(
    to: str,
    content: Content,
    links: Links,
    chart: bytes,
    attachments: Sequence[Attachment] = (),
    message_id: str = "",
) -> Mail:
    """The mail to one recipient."""
    return Mail(
        to,
        subject(content),
        report_text(content, links),
        report_html(content, links, f"cid:{CHART_ID}"),
        message_id=message_id,
        unsubscribe=links.unsubscribe,
        images=(InlineImage(CHART_ID, chart),),
        attachments=tuple(attachments),
    )


def report_html(content: Content, links: Links, chart: str) -> str:
    """The report as an HTML document; `chart` is the URL of its chart."""
    title = _text(content.name)
    figures = _figures(content.figures)
    tables = "".join(_table(table) for table in content.tables)
    notes = "".join(
        f'<p style="margin:0 0 8px;font-size:13px;line-height:1.5;color:{MUTED}">{note}</p>\n'
        for note in _notes(content, links)
    )
    return f"""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light">
<meta name="supported-color-schemes" content="light">
<meta name="format-detection" content="telephone=no,date=no,address=no,email=no,url=no">
<title>{title}</title>
</head>
<body style="margin:0;padding:0;background:{GROUND};-webkit-text-size-adjust:100%">
<div style="display:none;max-height:0;overflow:hidden">{escape(summary(content))}</div>
<table {TABLE} width="100%" bgcolor="{GROUND}">
<tr><td align="center" style="padding:24px 12px;font-family:{FONT}">
<!--[if mso]><table {TABLE} width="600"><tr><td><![endif]-->
<table {TABLE} width="100%" style="max-width:600px">
<tr><td align="left" style="padding:0 4px 14px;font-size:15px;font-weight:600;color:{BRAND}">\
{PRODUCT}</td></tr>
<tr><td align="left" bgcolor="{PAPER}" style="padding:24px 20px;border:1px solid {LINE};\
border-radius:8px">
<p style="margin:0 0 4px;font-size:14px;color:{MUTED}">{_text(content.website)}</p>
<h1 style="margin:0 0 4px;font-size:22px;line-height:1.3;color:{INK}">{title}</h1>
<p style="margin:0 0 20px;font-size:15px;color:{MUTED}">{escape(period_text(content.period))}</p>
{figures}<h2 style="{_HEADING}">{series_title(content)}</h2>
<img src="{chart}" width="{SHOWN_WIDTH}" alt="{escape(alt_text(content))}" style="display:block;\
width:100%;max-width:{SHOWN_WIDTH}px;height:auto;border:0;font-size:13px;color:{MUTED}">
{tables}<table {TABLE} style="margin:28px 0 4px">
<tr><td bgcolor="{BRAND}" style="border-radius:6px">
<a href="{escape(links.dashboard)}" style="display:inline-block;padding:12px 20px;font-size:16px;\
font-weight:600;color:#ffffff;text-decoration:none">Open the dashboard</a>
</td></tr>
</table>
</td></tr>
<tr><td align="left" style="padding:16px 4px 0">
{notes}</td></tr>
</table>
<!--[if mso]></td></tr></table><![endif]-->
</td></tr>
</table>
</body>
</html>
"""


_HEADING = f"margin:28px 0 8px;font-size:16px;line-height:1.3;color:{INK}"
_HEADS = ('align="left"', 'align="right" width="56"')
"""Attributes of the first column and of those of values, which leave it as much as they can."""
_CELL = f"padding:7px 0 7px 12px;border-top:1px solid {LINE};font-size:14px;line-height:1.4"


def _figures(figures: Sequence[Figure]) -> str:
    """Boxes that wrap: three in a row, two on a phone. Outlook shows them as cells of a table."""
    cells = []
    for i, figure in enumerate(figures):
        begin = "</tr><tr>" if i and i % 3 == 0 else ""
        change = change_of_figure(figure)
        cells.append(
            f'<!--[if mso]>{begin}<td width="184" valign="top"><![endif]-->'
            '<div style="display:inline-block;width:33%;min-width:136px;max-width:184px;'
            'vertical-align:top;margin:0 0 14px">'
            f'<div style="font-size:13px;color:{MUTED}">{figure.label}</div>'
            f'<div style="font-size:26px;line-height:1.3;font-weight:700;color:{INK}">'
            f"{_text(shown_value(figure.value, figure.unit))}</div>"
            f'<div style="font-size:13px;line-height:1.4">{_change(change) or "&nbsp;"}</div></div>'
            "<!--[if mso]></td><![endif]-->"
        )
    table = f"<table {TABLE}><tr>"
    return (
        f"<!--[if mso]>{table}<![endif]-->\n<div>"
        + "".join(cells)
        + "</div>\n<!--[if mso]></tr></table><![endif]-->\n"
    )


def _change(change: Change | None) -> str:
    if change is None:
        return ""
    color = {None: MUTED, True: BETTER, False: WORSE}[change.is_better]
    return f'<span style="color:{color};white-space:nowrap">{change.text}</span>'


def _table(table: Table) -> str:
    heading = f'<h2 style="{_HEADING}">{_text(table.title)}</h2>\n'
    if table.problem:
        style = f"margin:0;font-size:14px;color:{MUTED}"
        return f'{heading}<p style="{style}">{_text(table.problem)}</p>\n'
    compared = has_changes(table)
    names = [*table.columns]
    if compared:
        names.insert(2, "")
    style = f"padding:4px 0 6px 12px;font-size:12px;font-weight:600;color:{MUTED}"
    columns = "".join(
        f'<th {_HEADS[i > 0]} valign="bottom" scope="col" style="{_first(style, i)}">'
        f"{_text(name) or '&nbsp;'}</th>"
        for i, name in enumerate(names)
    )
    rows = "".join(_row(row, table.units, compared) for row in table.rows)
    return (
        f'{heading}<table cellpadding="0" cellspacing="0" border="0" width="100%">\n'
        f"<tr>{columns}</tr>\n{rows}</table>\n"
    )


def _row(row: Row, units: Sequence[Unit], compared: bool) -> str:
    values = [
        f"<strong>{_text(text)}</strong>" if i == 0 and compared else _text(text)
        for i, text in enumerate(_values(row, units))
    ]
    if compared:
        values.insert(1, _change(change_of_row(row)) or "&nbsp;")
    name = f'<td align="left" style="{_first(_CELL, 0)};color:{INK};word-break:break-word">'
    style = f"{_CELL};color:{INK};white-space:nowrap"
    cells = "".join(
        f'<td align="right" valign="top" style="{style}">{value}</td>' for value in values
    )
    return f"<tr>{name}{_text(row.name)}</td>{cells}</tr>\n"


def _values(row: Row, units: Sequence[Unit]) -> list[str]:
    return [
        shown_value(value, units[i] if i < len(units) else None)
        for i, value in enumerate(row.values)
    ]


def _first(style: str, position: int) -> str:
    """The first column has nothing to its left."""
    return style if position else style.replace(" 12px;", " 0;", 1)


def _notes(content: Content, links: Links) -> Sequence[str]:
    """What the foot says, as HTML."""
    notes = [escape(without_links(line)) for line in _foot(content, links)]
    if links.unsubscribe:
        notes.append(
            f'<a href="{escape(links.unsubscribe)}" style="color:{BRAND}">{UNSUBSCRIBE}</a>'
        )
    return notes


def _foot(content: Content, links: Links) -> list[str]:
    schedule, website = content.schedule.value, shown_name(content.website)
    host = urlsplit(links.dashboard).netloc
    lines = [FILTERED] if content.is_filtered else []
    if content.before is not None:
        lines.append(f"Changes are since the {WORDS[content.schedule][0]} before.")
    return [
        *lines,
        f"Days are those of {content.zone}. You get this {schedule} report because somebody who "
        f"manages {website} added your address to it, in {PRODUCT} at {host}.",
    ]


def _text(text: str) -> str:
    """A name on one line, as HTML in which no program finds an address."""
    return escape(without_links(shown_name(text)))


def report_text(content: Content, links: Links) -> str:
    """The report as plain text."""
    head = [shown_name(content.name), shown_name(content.website), period_text(content.period)]
    parts = ["\n".join([*map(without_links, head[:2]), head[2]])]
    parts.append(_lines([_figure_line(figure) for figure in content.figures]))
    points = [(point_text(point.label), f"{point.value or 0:,}") for point in content.points]
    parts.append(_section(series_title(content), [[name, value, ""] for name, value in points]))
    for table in content.tables:
        if table.problem:
            parts.append(f"{_title(table.title)}\n{without_links(shown_name(table.problem))}")
            continue
        compared = has_changes(table)
        lines = [[*table.columns[:2], "", *table.columns[2:]] if compared else [*table.columns]]
        for row in table.rows:
            change = change_of_row(row)
            values = _values(row, table.units)
            if compared:
                values.insert(1, change.text if change else "")
            lines.append([shown_name(row.name), *values])
        parts.append(_section(table.title, lines))
    parts.append(f"Open the dashboard:\n{links.dashboard}")
    parts += ["\n".join(wrap(without_links(line), TEXT_WIDTH)) for line in _foot(content, links)]
    if links.unsubscribe:
        parts.append(f"{UNSUBSCRIBE}:\n{links.unsubscribe}")
    return "\n\n".join(parts) + "\n"


def _figure_line(figure: Figure) -> list[str]:
    change = change_of_figure(figure)
    value = shown_value(figure.value, figure.unit)
    return [figure.label, value, change.text if change else ""]


def _section(title: str, lines: Sequence[Sequence[str]]) -> str:
    return f"{_title(title)}\n{_lines(lines)}"


def _title(title: str) -> str:
    name = without_links(shown_name(title))
    return f"{name}\n{'-' * len(name)}"


def _lines(lines: Sequence[Sequence[str]]) -> str:
    """Columns below each other: names at the left, cut to fit, values at the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)] if lines else []
    room = max(12, TEXT_WIDTH - sum(width + 2 for width in widths[1:]))
    widths[:1] = [min(width, room) for width in widths[:1]]
    shown = []
    for name, *values in lines:
        cut = name if len(name) <= widths[0] else name[: widths[0] - 1] + "…"
        # Joiners that are not shown have no width.
        cells = [without_links(cut) + " " * (widths[0] - len(cut))]
        cells += [value.rjust(width) for value, width in zip(values, widths[1:], strict=True)]
        shown.append("  ".join(cells).rstrip())
    return "\n".join(shown)
