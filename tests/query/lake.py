"""A lake that a test writes itself, and the rows to put into it: valid by default."""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Transaction
from deltalake.transaction import AddAction, RemoveAction
from msgspec import Struct

from schemas.lake.committed_offsets import app_id
from schemas.lake.data_files import checksum, data_file_path
from schemas.lake.table_location import table_url
from schemas.tables import (
    CLICKS,
    ENGAGEMENT,
    ERRORS,
    EVENTS,
    IDENTITIES,
    IMPORTED_TOTALS,
    LEDGER,
    QUARANTINE,
    VITALS,
    ColumnType,
    Table,
)

ARROW = {
    ColumnType.STRING: pa.string(),
    ColumnType.LONG: pa.int64(),
    ColumnType.INTEGER: pa.int32(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.DATE: pa.date32(),
    ColumnType.DECIMAL: pa.decimal128(18, 4),
    ColumnType.TIMESTAMP: pa.timestamp("us", "UTC"),
}

NOON = "2026-11-10T12:00:00Z"


class Stored(Struct):
    """One row of a table."""

    table: Table
    values: dict[str, Any]


class Lake:
    """Tables under a folder; each call of `holds` makes one part per table and day received."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._rows = 0

    def holds(
        self, *rows: Stored, without: tuple[str, ...] = (), as_they_are: bool = False
    ) -> None:
        """Store the rows, as files that do not have the columns `without`.

        Each gets an offset of its own, unless they are taken as they are.
        """
        groups: dict[tuple[str, str], list[Stored]] = {}
        for row in rows:
            self._rows += 1
            if not as_they_are:
                row.values["kafka_offset"] = self._rows
            day = str(row.values["received_at"].date())
            groups.setdefault((row.table.name, day), []).append(row)
        for (_, day), group in groups.items():
            self._part(group[0].table, day, [row.values for row in group], without)

    def moves(self, table: Table, partition: int, next_offset: int, topic: str = "events") -> None:
        """Store nothing, and move the next offset of a topic partition."""
        self.keeps(table, app_id(1, topic, partition), next_offset)

    def keeps(self, table: Table, name: str, number: int) -> None:
        """Store nothing, and keep a number under a name."""
        handle = self._opened(table)
        moved = Transaction(name, number)
        properties = CommitProperties(app_transactions=[moved])
        handle.create_write_transaction(
            [], "append", handle.schema(), ["day"], commit_properties=properties
        )

    def removes(self, table: Table, file: Path) -> None:
        """Remove a file from the newest version, and leave it on the disk."""
        handle = self._opened(table)
        day = file.parent.name
        gone = RemoveAction(f"{day}/{file.name}", True, 0, None, {"day": day.removeprefix("day=")})
        handle.create_write_transaction([gone], "append", handle.schema(), ["day"])

    def paths(self, table: Table) -> list[Path]:
        """The files of the newest version."""
        return [Path(uri) for uri in DeltaTable(table_url(str(self.root), table)).file_uris()]

    def _part(
        self, table: Table, day: str, rows: list[dict[str, Any]], without: tuple[str, ...]
    ) -> None:
        handle = self._opened(table)
        columns = [c for c in table.columns if c.name not in ("day", *without)]
        schema = pa.schema([(c.name, ARROW[c.type]) for c in columns])
        rows_table = pa.Table.from_pylist(
            [{c.name: row.get(c.name) for c in columns} for row in rows], schema
        )
        sink = pa.BufferOutputStream()
        pq.write_table(rows_table, sink)
        data = sink.getvalue().to_pybytes()
        path = data_file_path(day, checksum(data))
        target = Path(table_url(str(self.root), table)) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        stats = json.dumps(_stats(table, rows))
        action = AddAction(path, target.stat().st_size, {"day": day}, 0, True, stats)
        handle.create_write_transaction([action], "append", handle.schema(), ["day"])

    def _opened(self, table: Table) -> DeltaTable:
        schema = pa.schema([(c.name, ARROW[c.type]) for c in table.columns])
        url = table_url(str(self.root), table)
        if DeltaTable.is_deltatable(url):
            return DeltaTable(url)
        return DeltaTable.create(url, schema, partition_by=["day"])


def _stats(table: Table, rows: list[dict[str, Any]]) -> Mapping[str, Any]:
    names = (table.subject_column, "ts", "received_at")
    plain = {name: [_plain(row[name]) for row in rows if row[name] is not None] for name in names}
    return {
        "numRecords": len(rows),
        "minValues": {name: min(values) for name, values in plain.items() if values},
        "maxValues": {name: max(values) for name, values in plain.items() if values},
        "nullCount": {name: len(rows) - len(values) for name, values in plain.items()},
    }


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"
    return value


def hashed(text: str | None) -> int | None:
    """An id as 63 bits, as the stream makes it (any function will do)."""
    if text is None:
        return None
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) >> 1


def an_event(
    name: str = "signup",
    *,
    website: str = "shop",
    at: str = NOON,
    visitor: str | None = "u1",
    session: str | None = "s1",
    received: str | None = None,
    **more: Any,
) -> Stored:
    """A row of `events`."""
    return Stored(
        EVENTS,
        {
            **_visitor_columns(website, visitor, session),
            **_time_columns(at, received),
            "name": name,
            **more,
        },
    )


def a_view(path: str | None = "/", *, time_on_page: float | None = None, **more: Any) -> Stored:
    """A page view."""
    seen = None if time_on_page is None else Decimal(str(time_on_page))
    return an_event("screen_view", path=path, time_on_page=seen, **more)


def an_outbound_click(href: str, text: str = "more", **more: Any) -> Stored:
    """An outbound click; the domain is the host of `href`."""
    domain = href.split("/")[2]
    return an_event("outbound_click", href=href, link_text=text, outbound_domain=domain, **more)


def a_click(
    *,
    link: str = "go",
    organization: str = "acme",
    at: str = NOON,
    visitor: str = "u1",
    **more: Any,
) -> Stored:
    """A row of `clicks`."""
    who = {
        "link_id": link,
        "organization_id": organization,
        "anonymous_id": visitor,
        "visitor_hash": hashed(visitor),
        "slug": link,
    }
    return Stored(CLICKS, {**who, **_time_columns(at, None), **more})


def an_error(
    message: str = "boom",
    *,
    website: str = "shop",
    at: str = NOON,
    visitor: str = "u1",
    session: str = "s1",
    **more: Any,
) -> Stored:
    """A row of `errors`."""
    columns_of_row = {"level": "error", "path": "/", "message": message, **more}
    return Stored(
        ERRORS,
        {
            **_visitor_columns(website, visitor, session),
            **_time_columns(at, None),
            **columns_of_row,
        },
    )


def a_vital(
    metric: str,
    value: float,
    *,
    website: str = "shop",
    at: str = NOON,
    visitor: str = "u1",
    session: str = "s1",
    **more: Any,
) -> Stored:
    """A row of `vitals`."""
    measured = {"metric_name": metric, "metric_value": Decimal(str(value)), "path": "/", **more}
    return Stored(
        VITALS,
        {**_visitor_columns(website, visitor, session), **_time_columns(at, None), **measured},
    )


def imported(
    day: str,
    dimension: str = "",
    value: str | None = "",
    *,
    website: str = "shop",
    product: str = "Plausible",
    **counts: int,
) -> Stored:
    """A row of `imported_totals`: what a product counted on one day."""
    own = {"dimension": dimension, "value": value, "product": product, "import_id": "i1"}
    return Stored(
        IMPORTED_TOTALS,
        {"website_id": website, **_time_columns(f"{day}T00:00:00Z", NOON), **own, **counts},
    )


def an_engagement(
    path: str = "/",
    *,
    website: str = "shop",
    at: str = NOON,
    visitor: str = "u1",
    session: str = "s1",
    **more: Any,
) -> Stored:
    """A row of `engagement`."""
    columns_of_row = {"path": path, "form_abandoned": False, **more}
    return Stored(
        ENGAGEMENT,
        {
            **_visitor_columns(website, visitor, session),
            **_time_columns(at, None),
            **columns_of_row,
        },
    )


def an_identity(
    profile: str,
    *,
    website: str = "shop",
    at: str = NOON,
    visitor: str = "u1",
    **more: Any,
) -> Stored:
    """A row of `identities`."""
    columns_of_row = {"profile_id": profile, **more}
    return Stored(
        IDENTITIES,
        {**_visitor_columns(website, visitor, None), **_time_columns(at, None), **columns_of_row},
    )


def a_quarantined_item(
    reason: str = "no such zone",
    *,
    subject: str | None = "shop",
    at: str = NOON,
    topic: str = "events",
    stage: str = "enrich",
    **more: Any,
) -> Stored:
    """A row of `quarantine`."""
    columns_of_row = {"topic": topic, "stage": stage, "reason": reason, **more}
    return Stored(QUARANTINE, {"subject_id": subject, **_receipt(at), **columns_of_row})


def ledger_counts(
    *,
    subject: str | None = "shop",
    at: str = "2026-11-10T12:00:00Z",
    topic: str = "events",
    stored: int = 0,
    duplicate: int = 0,
    quarantined: int = 0,
    dropped: int = 0,
    drop_reason: str | None = None,
) -> Stored:
    """A row of `ledger`, which balances."""
    counts = {
        "stored": stored,
        "duplicate": duplicate,
        "quarantined": quarantined,
        "dropped": dropped,
    }
    others = {"topic": topic, "received": sum(counts.values()), "drop_reason": drop_reason}
    return Stored(LEDGER, {"subject_id": subject, **_receipt(at), **counts, **others})


def _receipt(at: str) -> dict[str, Any]:
    ts = datetime.fromisoformat(at).astimezone(UTC)
    return {"ts": ts, "received_at": ts, "kafka_partition": 0, "seq": 0, "epoch": 0}


def _visitor_columns(website: str, visitor: str | None, session: str | None) -> dict[str, Any]:
    return {
        "website_id": website,
        "anonymous_id": visitor,
        "session_id": session,
        "visitor_hash": hashed(visitor),
        "session_hash": hashed(session),
    }


def _time_columns(at: str, received: str | None) -> dict[str, Any]:
    ts = datetime.fromisoformat(at).astimezone(UTC)
    got = datetime.fromisoformat(received) if received else ts + timedelta(milliseconds=250)
    return {
        "ts": ts,
        "received_at": got,
        "kafka_partition": 0,
        "seq": 0,
        "is_bot": False,
        "rules_version": 1,
    }
