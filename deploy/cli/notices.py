"""`tidemark alerts test|history` and `tidemark reports send|history`.

`test` and `send` write what is due; a running query service delivers it.
"""

from collections.abc import Mapping, Sequence

import click

from deploy.cli.context import CliContext, as_json, print_record, print_rows
from query.reports.schedule import Schedule, last_period
from schemas.registry import Alert, RegistryStore, Report, SavedRecord, Website
from schemas.registry.notices import (
    Delivery,
    Notice,
    NoticeEvent,
    Target,
    new_notice,
    targets_of,
)
from schemas.registry.saved_records import Channel
from schemas.runtime.clock import format_instant, now_ms

COLUMNS = ("createdAt", "event", "value", "to", "state", "attempts", "problem")
TELLING: Mapping[type[Alert] | type[Report], tuple[str, str]] = {
    Alert: ("test", "Test an alert: tell its recipients and channels."),
    Report: ("send", "Send a report about the last period."),
}
NOBODY = "it has no recipients and no channels; add some with `update`"


def add_notice_commands(group: click.Group, kind: type[Alert] | type[Report]) -> None:
    """Add the commands to the group of alerts or reports."""
    group.add_command(_tell_command(kind))
    group.add_command(_history_command(kind))


def _tell_command(kind: type[Alert] | type[Report]) -> click.Command:
    name, description = TELLING[kind]

    @click.command(name, help=f"{description} A running query service delivers it.")
    @click.argument("record_id", metavar="ID")
    @as_json
    @click.pass_obj
    def tell(tidemark: CliContext, record_id: str, json: bool) -> None:
        with tidemark.open_registry() as store:
            record = store.get(kind, record_id)
            saved: Mapping[str, SavedRecord] = {
                one.id: one for one in store.list(Channel, website_id=record.website_id)
            }
            targets = targets_of(record, saved)
            if not targets:
                raise click.UsageError(NOBODY)
            notice = _notice(store, record)
            store.notices().add(notice, targets, notice.created_at)
        print_record({"id": notice.id, "to": [_name(one, saved) for one in targets]}, json)

    return tell


def _notice(store: RegistryStore, record: Alert | Report) -> Notice:
    now = now_ms()
    if isinstance(record, Alert):
        span, event = (now, now), NoticeEvent.TEST
        return new_notice(event, record.website_id, span, now, alert_id=record.id, once=False)
    zone = store.get(Website, record.website_id).timezone
    period = last_period(Schedule(record.schedule), zone, now)
    span, event = (period.start_ms, period.end_ms), NoticeEvent.REPORT
    return new_notice(event, record.website_id, span, now, report_id=record.id, once=False)


def _name(target: Target, saved: Mapping[str, SavedRecord]) -> str:
    channel = saved.get(target.target)
    return channel.name if isinstance(channel, Channel) else target.target


def _history_command(kind: type[Alert] | type[Report]) -> click.Command:
    @click.command("history", help="What was told, newest first, with each delivery.")
    @click.argument("record_id", metavar="ID")
    @click.option("--limit", type=click.IntRange(1, 200), default=20, help="Notices to show.")
    @as_json
    @click.pass_obj
    def history(tidemark: CliContext, record_id: str, limit: int, json: bool) -> None:
        with tidemark.open_registry() as store:
            store.get(kind, record_id)
            source = {"alert_id" if kind is Alert else "report_id": record_id}
            newest = store.notices().history(limit, **source)
        print_rows(
            [row for notice, deliveries in newest for row in _rows(notice, deliveries)],
            COLUMNS,
            json,
        )

    return history


def _rows(notice: Notice, deliveries: Sequence[Delivery]) -> Sequence[dict[str, object]]:
    return [_row(notice, delivery) for delivery in deliveries] or [_row(notice, None)]


def _row(notice: Notice, delivery: Delivery | None) -> dict[str, object]:
    return {
        "createdAt": format_instant(notice.created_at),
        "event": notice.event.value,
        "value": notice.content.get("value"),
        "to": delivery.target if delivery else None,
        "state": delivery.state if delivery else "nobody is told",
        "attempts": delivery.attempts if delivery else 0,
        "problem": (delivery.problem or None) if delivery else None,
    }
