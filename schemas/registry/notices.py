"""RegistryNotices: what alerts and reports have to tell, to whom, and what became of it.

A notice is one thing to tell; it has a delivery for each recipient and channel. Both are written in
one transaction with the state of the alert, so that a notice exists once however often a process is
killed. A delivery is claimed by moving its due time ahead: whoever moved it sends it, and if that
process dies, the delivery is due again. A receiver may then get it a second time, with the same id.

These rows are no records: no revision, no audit trail and no backup has them.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from msgspec import Struct, structs
from sqlalchemy.dialects import postgresql, sqlite

from schemas.registry.connections import RegistryConnections
from schemas.registry.database import ALERT_STATES, DELIVERIES, LEASES, NOTICES, WEBSITES
from schemas.registry.ids import random_id
from schemas.registry.saved_records import Alert, Channel, Report

MINUTE_MS = 60_000
RETRY_MINUTES = (2, 5, 15, 60, 180, 360, 720)
"""Minutes from one attempt to the next: some 22 hours in all."""
MAX_PROBLEM_LENGTH = 1_000
EMAIL = "email"
"""The kind of a delivery to an e-mail address; that of a channel is the channel's."""


class NoticeEvent(StrEnum):
    """What happened."""

    FIRED = "fired"
    RECOVERED = "recovered"
    TEST = "test"
    REPORT = "report"
    """A report of a period."""


class Target(Struct, frozen=True):
    """Whom a notice is told."""

    kind: str
    """`email`, or the kind of the channel."""
    target: str
    """The e-mail address, or the id of the channel."""


class Notice(Struct, frozen=True, kw_only=True):
    """One thing to tell."""

    id: str
    website_id: str
    alert_id: str | None = None
    report_id: str | None = None
    event: NoticeEvent
    start_at: int
    """The bucket or period that it is about."""
    end_at: int
    content: Mapping[str, Any] = {}
    """Of an alert: its numbers and the sentence about them."""
    repetition: str
    """Equal for two notices of the same thing, of which the second is refused."""
    created_at: int


class Delivery(Struct, frozen=True, kw_only=True):
    """One notice to one recipient or channel."""

    id: str
    notice_id: str
    kind: str
    target: str
    due_at: int | None
    """When it is tried next; None once it was delivered or given up."""
    attempts: int = 0
    tried_at: int | None = None
    delivered_at: int | None = None
    failed_at: int | None = None
    problem: str = ""
    """Why the last attempt failed."""

    @property
    def state(self) -> str:
        """`due`, `trying` again, `delivered` or `failed`."""
        if self.delivered_at is not None:
            return "delivered"
        if self.failed_at is not None:
            return "failed"
        return "trying" if self.attempts else "due"


class AlertState(Struct, frozen=True):
    """How far an alert is checked, and what it found."""

    alert_id: str
    checked_until: int
    """End of the last bucket."""
    firing_since: int | None = None
    """Start of the bucket that began it."""
    value: float | None = None
    problem: str = ""
    """Why the last bucket could not be checked."""


def targets_of(record: Alert | Report, saved: Mapping[str, object]) -> Sequence[Target]:
    """Whom an alert or report tells: recipients, and channels that are among `saved` by id."""
    channels = [saved.get(name) for name in record.channels]
    return (
        *(Target(EMAIL, address) for address in record.recipients),
        *(Target(one.kind, one.id) for one in channels if isinstance(one, Channel)),
    )


def new_notice(
    event: NoticeEvent,
    website_id: str,
    span: tuple[int, int],
    now_ms: int,
    *,
    alert_id: str | None = None,
    report_id: str | None = None,
    content: Mapping[str, Any] | None = None,
    once: bool = True,
) -> Notice:
    """A notice about a span of time; unless `once`, it may be repeated."""
    notice_id = f"ntc_{random_id(16)}"
    source, (start_at, end_at) = alert_id or report_id, span
    return Notice(
        id=notice_id,
        website_id=website_id,
        alert_id=alert_id,
        report_id=report_id,
        event=event,
        start_at=start_at,
        end_at=end_at,
        content=content or {},
        repetition=f"{source}.{event.value}.{start_at}.{end_at}" if once else notice_id,
        created_at=now_ms,
    )


class RegistryNotices:
    """Notices, their deliveries, and states of alerts; errors are DatabaseError."""

    def __init__(self, connections: RegistryConnections) -> None:
        self._connections = connections

    def hold_lease(self, name: str, holder: str, now_ms: int, lasts_ms: int) -> bool:
        """Whether the holder has the lease from now on; False while another one has it."""
        values = {"name": name, "holder": holder, "now": now_ms, "ends_at": now_ms + lasts_ms}
        taken = sa.text(
            "INSERT INTO leases (name, holder, ends_at) VALUES (:name, :holder, :ends_at) "
            "ON CONFLICT (name) DO UPDATE SET holder = :holder, ends_at = :ends_at "
            "WHERE leases.holder = :holder OR leases.ends_at <= :now"
        )
        with self._connections.engine().begin() as connection:
            return connection.execute(taken, values).rowcount == 1

    def release_lease(self, name: str, holder: str) -> None:
        """Give the lease back."""
        held = (LEASES.c.name == name) & (LEASES.c.holder == holder)
        with self._connections.engine().begin() as connection:
            connection.execute(sa.delete(LEASES).where(held))

    def alert_states(self, alert_ids: Iterable[str] | None = None) -> Mapping[str, AlertState]:
        """States of these alerts, or of all, by alert; none of those never checked."""
        query = sa.select(ALERT_STATES)
        if alert_ids is not None:
            query = query.where(ALERT_STATES.c.alert_id.in_(list(alert_ids)))
        with self._connections.engine().connect() as connection:
            rows = connection.execute(query).mappings()
            return {row["alert_id"]: AlertState(**row) for row in rows}

    def record_check(
        self,
        before: AlertState | None,
        after: AlertState,
        notice: Notice | None = None,
        targets: Sequence[Target] = (),
        due_at: int = 0,
    ) -> bool:
        """Write the state of an alert together with what it has to tell.

        False when another process wrote one meanwhile, or the alert is gone: nothing is written.
        """
        try:
            with self._connections.engine().begin() as connection:
                if not _write_state(connection, before, after):
                    return False
                if notice is not None:
                    _add(connection, notice, targets, due_at)
                return True
        except sa.exc.IntegrityError:
            return False

    def add(self, notice: Notice, targets: Sequence[Target], due_at: int) -> bool:
        """Write a notice with its deliveries.

        False when it exists already, or its alert or report is gone.
        """
        try:
            with self._connections.engine().begin() as connection:
                return _add(connection, notice, targets, due_at)
        except sa.exc.IntegrityError:
            return False

    def due(self, now_ms: int, limit: int) -> Sequence[tuple[Delivery, Notice]]:
        """Deliveries to be tried now, the longest due first, each with its notice.

        Organizations have turns: many deliveries of one, to slow receivers, delay no other's.
        """
        order = (DELIVERIES.c.due_at, DELIVERIES.c.notice_id, DELIVERIES.c.id)
        owner = WEBSITES.c.organization_id
        turn = sa.func.row_number().over(partition_by=owner, order_by=order)
        wanted = (
            sa.select(DELIVERIES)
            .select_from(DELIVERIES.join(NOTICES).join(WEBSITES))
            .where(DELIVERIES.c.due_at <= now_ms)
            .order_by(turn, *order)
            .limit(limit)
        )
        with self._connections.engine().connect() as connection:
            rows = [Delivery(**row) for row in connection.execute(wanted).mappings()]
            notices = _notices(connection, {row.notice_id for row in rows})
        return [(row, notices[row.notice_id]) for row in rows if row.notice_id in notices]

    def claim(self, delivery: Delivery, now_ms: int) -> Delivery | None:
        """The delivery with one attempt more, which the caller makes; None if another one does."""
        step = min(delivery.attempts, len(RETRY_MINUTES) - 1)
        claimed = structs.replace(
            delivery,
            attempts=delivery.attempts + 1,
            tried_at=now_ms,
            due_at=now_ms + RETRY_MINUTES[step] * MINUTE_MS,
        )
        return claimed if self._update(delivery, claimed) else None

    def delivered(self, delivery: Delivery, now_ms: int) -> None:
        """The receiver has it."""
        self._update(
            delivery, structs.replace(delivery, delivered_at=now_ms, due_at=None, problem="")
        )

    def not_delivered(
        self,
        delivery: Delivery,
        problem: str,
        now_ms: int,
        *,
        retry_at: int = 0,
        give_up: bool = False,
    ) -> None:
        """The attempt failed; it is given up after the last one, or at once."""
        problem = problem[:MAX_PROBLEM_LENGTH]
        if give_up or delivery.attempts > len(RETRY_MINUTES):
            changed = structs.replace(delivery, failed_at=now_ms, due_at=None, problem=problem)
        else:
            due_at = max(delivery.due_at or now_ms, retry_at)
            changed = structs.replace(delivery, due_at=due_at, problem=problem)
        self._update(delivery, changed)

    def history(
        self, limit: int, *, alert_id: str | None = None, report_id: str | None = None
    ) -> Sequence[tuple[Notice, Sequence[Delivery]]]:
        """Newest notices of an alert or a report, each with its deliveries."""
        source = NOTICES.c.alert_id == alert_id if alert_id else NOTICES.c.report_id == report_id
        newest = (
            sa.select(NOTICES.c.id)
            .where(source)
            .order_by(NOTICES.c.created_at.desc(), NOTICES.c.id)
            .limit(limit)
        )
        with self._connections.engine().connect() as connection:
            ids = list(connection.execute(newest).scalars())
            notices = _notices(connection, ids)
            of_notice: dict[str, list[Delivery]] = {}
            query = sa.select(DELIVERIES).where(DELIVERIES.c.notice_id.in_(ids))
            for row in connection.execute(query.order_by(DELIVERIES.c.id)).mappings():
                of_notice.setdefault(row["notice_id"], []).append(Delivery(**row))
        return [(notices[name], of_notice.get(name, [])) for name in ids if name in notices]

    def last_of_reports(self, report_ids: Iterable[str]) -> Mapping[str, int]:
        """When the newest notice of each of these reports was written; none of those without."""
        query = (
            sa.select(NOTICES.c.report_id, sa.func.max(NOTICES.c.created_at))
            .where(NOTICES.c.report_id.in_(list(report_ids)))
            .group_by(NOTICES.c.report_id)
        )
        with self._connections.engine().connect() as connection:
            return {str(name): int(at_ms) for name, at_ms in connection.execute(query)}

    def deliveries_of(self, notice_id: str) -> Sequence[Delivery]:
        """The deliveries of a notice."""
        query = sa.select(DELIVERIES).where(DELIVERIES.c.notice_id == notice_id)
        with self._connections.engine().connect() as connection:
            rows = connection.execute(query.order_by(DELIVERIES.c.id)).mappings()
            return [Delivery(**row) for row in rows]

    def forget(self, created_before_ms: int) -> None:
        """Delete notices from before an instant, with their deliveries."""
        old = sa.delete(NOTICES).where(NOTICES.c.created_at < created_before_ms)
        with self._connections.engine().begin() as connection:
            connection.execute(old)

    def count_by_hand(self, organization_id: str, since_ms: int) -> int:
        """Deliveries of an organization that somebody asked for since an instant."""
        by_hand = (
            sa.select(sa.func.count())
            .select_from(DELIVERIES.join(NOTICES).join(WEBSITES))
            .where(
                WEBSITES.c.organization_id == organization_id,
                NOTICES.c.repetition == NOTICES.c.id,
                NOTICES.c.created_at > since_ms,
            )
        )
        with self._connections.engine().connect() as connection:
            return connection.execute(by_hand).scalar_one()

    def forget_rows(self, organization_id: str, website_id: str | None = None) -> None:
        """Delete rows of results, and their names in sentences: an erasure may be about them."""
        websites = sa.select(WEBSITES.c.id).where(WEBSITES.c.organization_id == organization_id)
        if website_id is not None:
            websites = websites.where(WEBSITES.c.id == website_id)
        alerts = sa.select(NOTICES).where(
            NOTICES.c.website_id.in_(websites), NOTICES.c.alert_id.is_not(None)
        )
        with self._connections.engine().begin() as connection:
            for row in connection.execute(alerts).mappings().all():
                if row["content"].get("rows"):
                    text, _, _ = str(row["content"].get("text", "")).partition(": ")
                    content = {**row["content"], "rows": [], "text": text}
                    erased = sa.update(NOTICES).where(NOTICES.c.id == row["id"])
                    connection.execute(erased.values(content=content))

    def _update(self, before: Delivery, after: Delivery) -> bool:
        """Whether it was as before, and so was written."""
        table = DELIVERIES
        unchanged = (table.c.id == before.id) & (table.c.attempts == before.attempts)
        with self._connections.engine().begin() as connection:
            written = sa.update(table).where(unchanged & table.c.due_at.is_not(None))
            return connection.execute(written.values(structs.asdict(after))).rowcount == 1


def _write_state(connection: sa.Connection, before: AlertState | None, after: AlertState) -> bool:
    """Whether the state was as before, and so was written."""
    table, values = ALERT_STATES, structs.asdict(after)
    if before is None:
        return _insert_absent(connection, table, values)
    unchanged = (table.c.alert_id == before.alert_id) & (
        table.c.checked_until == before.checked_until
    )
    return connection.execute(sa.update(table).where(unchanged).values(values)).rowcount == 1


def _insert_absent(connection: sa.Connection, table: sa.Table, values: Mapping[str, Any]) -> bool:
    """Whether no row had its keys, and so it was written; IntegrityError for missing references."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    statement = insert(table).values(values).on_conflict_do_nothing()
    return connection.execute(statement.returning(*table.primary_key)).first() is not None


def _add(connection: sa.Connection, notice: Notice, targets: Sequence[Target], due_at: int) -> bool:
    values = {**structs.asdict(notice), "event": notice.event.value}
    if not _insert_absent(connection, NOTICES, values):
        return False
    deliveries = [
        Delivery(
            id=f"dlv_{random_id(16)}",
            notice_id=notice.id,
            kind=one.kind,
            target=one.target,
            due_at=due_at,
        )
        for one in dict.fromkeys(targets)
    ]
    if deliveries:
        rows = [structs.asdict(delivery) for delivery in deliveries]
        connection.execute(sa.insert(DELIVERIES), rows)
    return True


def _notices(connection: sa.Connection, ids: Iterable[str]) -> dict[str, Notice]:
    query = sa.select(NOTICES).where(NOTICES.c.id.in_(list(ids)))
    rows = connection.execute(query).mappings()
    return {row["id"]: Notice(**{**row, "event": NoticeEvent(row["event"])}) for row in rows}
