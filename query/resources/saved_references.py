"""Ids of other records of the same website that a saved record has."""

from collections.abc import Iterator, Mapping

from schemas.errors import Malformed
from schemas.registry import Alert, Board, Channel, Exploration, Report, SavedRecord

REFERRED = (Channel, Exploration, Board)
"""Classes of records that others name."""


def refuse_unknown(
    record: SavedRecord, saved: Mapping[str, SavedRecord], before: SavedRecord | None = None
) -> None:
    """Malformed when it names a channel, exploration or board that is not among `saved` by id.

    Those that it named before may be deleted: they hinder no other change.
    """
    named_before = {name for _, _, name in _references(before)} if before is not None else set()
    for path, kind, name in _references(record):
        if name not in named_before and not isinstance(saved.get(name), kind):
            raise Malformed(f"'{path}' is '{name[:40]}'; the website has none of this id")


def _references(record: SavedRecord) -> Iterator[tuple[str, type[SavedRecord], str]]:
    """Where a record names another one of its website, of which class, and its id."""
    if isinstance(record, Alert | Report):
        for i, name in enumerate(record.channels):
            yield f"channels[{i}]", Channel, name
    if isinstance(record, Report):
        for i, name in enumerate(record.explorations):
            yield f"explorations[{i}]", Exploration, name
        if record.board is not None:
            yield "board", Board, record.board
    if isinstance(record, Board):
        for i, tile in enumerate(record.tiles):
            if "exploration" in tile:
                yield f"tiles[{i}].exploration", Exploration, tile["exploration"]
