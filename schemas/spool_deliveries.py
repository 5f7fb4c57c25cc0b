"""Where spooled requests are in Kafka: a row for each, by its number in its spool file.

A collector with a spool accepts requests while Kafka is away, so their receipts have no offset. It
writes the offset here when Kafka has acknowledged: `<data>/spool/delivered/<spool file>`. A row of
zeros is a request that is not in Kafka yet. A collector that starts reads what its predecessor has
delivered, and the query service looks up receipts. A row that a crash lost costs a second delivery,
which deduplication drops.
"""

import os
import re
import struct
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

SPOOL_FOLDER = "spool"
DELIVERED_FOLDER = "delivered"
RETENTION_HOURS = 7 * 24
"""How long receipts of spooled requests can be looked up."""

_ROW = struct.Struct("<BiqI24s")
_DELIVERED = 1
_SPOOL_ID = re.compile(r"([0-9a-f]{12}-[0-9]{6})/([0-9]{1,9})", re.ASCII)


class Delivery(Struct, frozen=True):
    """Where a request is in Kafka."""

    partition: int
    offset: int
    first_position: int
    topic_id: str


def spool_id(file: str, number: int) -> str:
    """The id of a spooled request: unique over all collectors, and part of its receipt."""
    return f"{file}/{number}"


def deliveries_path(data: Path, file: str) -> Path:
    """The file with the deliveries of a spool file."""
    return data / SPOOL_FOLDER / DELIVERED_FOLDER / file


def write_deliveries(path: Path, deliveries: Iterable[tuple[int, Delivery]]) -> None:
    """Write the rows of these requests, by number."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
    try:
        for number, delivery in deliveries:
            row = _ROW.pack(
                _DELIVERED,
                delivery.partition,
                delivery.offset,
                delivery.first_position,
                delivery.topic_id.encode(),
            )
            os.pwrite(descriptor, row, number * _ROW.size)
    finally:
        os.close(descriptor)


def delivered_numbers(path: Path) -> set[int]:
    """Numbers of the requests that were delivered."""
    try:
        rows = path.read_bytes()
    except FileNotFoundError:
        return set()
    return {n for n in range(len(rows) // _ROW.size) if rows[n * _ROW.size] == _DELIVERED}


def read_delivery(data: Path, request_spool_id: str) -> Delivery | None:
    """Where a spooled request is in Kafka; None while it is not there.

    OSError if this machine does not know: the file is of another machine, or older than the
    retention.
    """
    match = _SPOOL_ID.fullmatch(request_spool_id)
    if match is None:
        raise FileNotFoundError(f"no spooled request {request_spool_id}")
    with deliveries_path(data, match[1]).open("rb") as file:
        file.seek(int(match[2]) * _ROW.size)
        row = file.read(_ROW.size)
    if len(row) < _ROW.size or row[0] != _DELIVERED:
        return None
    _, partition, offset, first_position, topic_id = _ROW.unpack(row)
    return Delivery(partition, offset, first_position, topic_id.rstrip(b"\0").decode())


def delete_old_deliveries(
    data: Path, undelivered_files: set[str], now: float | None = None
) -> None:
    """Delete files that were last written before the retention, except of undelivered requests."""
    oldest = (time.time() if now is None else now) - RETENTION_HOURS * 3600
    for path in (data / SPOOL_FOLDER / DELIVERED_FOLDER).glob("*"):
        with suppress(FileNotFoundError):  # another collector was first
            if path.name not in undelivered_files and path.stat().st_mtime < oldest:
                path.unlink()
