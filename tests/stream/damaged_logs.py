"""A table of a few versions, and the ways in which its log may be damaged."""

from collections.abc import Callable
from pathlib import Path

from schemas.kinds import CUSTOM_EVENT
from schemas.runtime.settings import Settings
from stream.enrich.rules.lookups import Lookups
from stream.writing.batch_writer import BatchWriter
from tests.stream.builders import a_message, named

Damage = Callable[[Path], object]


DAMAGES: dict[str, Damage] = {
    "missing": Path.unlink,
    "empty": lambda entry: entry.write_bytes(b""),
    "torn": lambda entry: entry.write_bytes(entry.read_bytes()[:400]),
    "without its add": lambda entry: without_lines(entry, b'{"add"'),
    "without its txn": lambda entry: without_lines(entry, b'{"txn"'),
    "with another offset": lambda entry: entry.write_bytes(
        entry.read_bytes().replace(
            b'"appId":"1/events/0","version":3', b'"appId":"1/events/0","version":2'
        )
    ),
}


def without_lines(entry: Path, beginning: bytes) -> None:
    lines = entry.read_bytes().splitlines(keepends=True)
    entry.write_bytes(b"".join(line for line in lines if not line.startswith(beginning)))


ROWS = 5


def store(lake_settings: Settings, *offsets: int) -> None:
    writer = BatchWriter(lake_settings, CUSTOM_EVENT, Lookups())
    for offset in offsets:
        writer.write([a_message(offset, named(f"n{offset}"))])
