"""Erased rows: which rows of a table match a tombstone of their website or link."""

import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import structs

from schemas.registry import Selector
from schemas.registry.tombstones import SubjectTombstones, TombstoneKey, Tombstones
from schemas.tables import Table
from stream.rows.quarantine import QuarantineEntry

VALUE_COLUMNS: Mapping[Selector, str] = {
    Selector.VISITOR: "anonymous_id",
    Selector.PROFILE: "profile_id",
    Selector.SESSION: "session_id",
    Selector.DEVICE: "anonymous_id",
}
PROPERTY_COLUMNS = ("properties", "traits")
"""JSON objects whose members an erasure of a property value is about."""
ERASED_REASON = "erased"
"""The drop reason of rows, and the reason of quarantine entries whose payload was removed."""

_JSON_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')


def value_columns(table: Table) -> list[str]:
    """The columns of a table that may have erased values."""
    names = dict.fromkeys((*VALUE_COLUMNS.values(), *PROPERTY_COLUMNS))
    return [name for name in names if table.column(name) is not None]


def erasure_ids(rows: pa.Table, table: Table, tombstones: Tombstones) -> pa.Array:
    """The id of the erasure that each row matches; null for the others."""
    ids = pa.nulls(rows.num_rows, pa.string())
    subjects = _plain(rows[table.subject_column])
    for subject in pc.unique(subjects).drop_null().to_pylist():
        of_subject = tombstones.of_subject(subject)
        if not of_subject:
            continue
        is_of_subject = pc.equal(subjects, subject)
        for selector, name in _searched_columns(table, of_subject):
            is_searched = is_of_subject
            if selector is Selector.DEVICE and table.column("profile_id") is not None:
                # Those with an erased profile match by it; the others are of another person.
                is_searched = pc.and_(is_searched, pc.is_null(_plain(rows["profile_id"])))
            values = pc.if_else(is_searched, _plain(rows[name]), pa.scalar(None, pa.string()))
            distinct = pc.unique(values).drop_null().to_pylist()
            if matches := dict(_matches(selector, distinct, of_subject, tombstones.key)):
                index = pc.index_in(values, pa.array(matches, pa.string()))
                matched = pa.array(list(matches.values()), pa.string()).take(index)
                ids = pc.coalesce(ids, matched)
    return ids


def without_erased_payloads(
    entries: Iterable[QuarantineEntry], tombstones: Tombstones
) -> list[QuarantineEntry]:
    """The entries; those with an erased value have neither payload nor details of the reason."""
    return [
        structs.replace(entry, payload=b"", reason=ERASED_REASON)
        if payload_erasure(entry.payload, tombstones.of_subject(entry.subject_id), tombstones.key)
        else entry
        for entry in entries
    ]


def payload_erasure(payload: bytes, of_subject: SubjectTombstones, key: TombstoneKey) -> str | None:
    """The id of an erasure whose value a JSON text has.

    As a string under whatever name, or as the property that the erasure is about.
    """
    if not of_subject:
        return None
    names = [(selector, "") for selector in of_subject.selectors if selector in VALUE_COLUMNS]
    names += [(Selector.PROPERTY, name) for name in of_subject.property_names]
    for value in set(_json_strings(payload)):
        for selector, name in names:
            if erasure_id := of_subject.erasure_ids.get(key.tombstone(selector, value, name)):
                return erasure_id
    if of_subject.property_names:
        for tombstone in _member_tombstones(payload, of_subject.property_names, key):
            if erasure_id := of_subject.erasure_ids.get(tombstone):
                return erasure_id
    return None


def _member_tombstones(payload: bytes, names: frozenset[str], key: TombstoneKey) -> Iterator[str]:
    """Those of the members with these names, at any depth."""
    try:
        values = [msgspec.json.decode(payload)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return
    while values:
        value = values.pop()
        if isinstance(value, dict):
            for name in names.intersection(value):
                yield key.tombstone(Selector.PROPERTY, property_text(value[name]), name)
            values.extend(value.values())
        elif isinstance(value, list):
            values.extend(value)


def _json_strings(payload: bytes) -> Iterator[str]:
    for match in _JSON_STRING.finditer(payload):
        try:
            yield msgspec.json.decode(match[0], type=str)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue


def _searched_columns(
    table: Table, of_subject: SubjectTombstones
) -> Iterator[tuple[Selector, str]]:
    """The columns that may have erased values, by what a value identifies."""
    columns = [*VALUE_COLUMNS.items(), *((Selector.PROPERTY, name) for name in PROPERTY_COLUMNS)]
    for selector, name in columns:
        if selector in of_subject.selectors and table.column(name) is not None:
            yield selector, name


def _matches(
    selector: Selector, values: Iterable[str], of_subject: SubjectTombstones, key: TombstoneKey
) -> Iterator[tuple[str, str]]:
    """Those of the values of a column that have a tombstone, with the id of their erasure."""
    if selector is Selector.PROPERTY:
        for text in values:
            for tombstone in _property_tombstones(text, of_subject.property_names, key):
                if erasure_id := of_subject.erasure_ids.get(tombstone):
                    yield text, erasure_id
        return
    for value in values:
        if erasure_id := of_subject.erasure_ids.get(key.tombstone(selector, value)):
            yield value, erasure_id


def _property_tombstones(text: str, names: Iterable[str], key: TombstoneKey) -> Iterator[str]:
    try:
        members = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return
    for name in names:
        if isinstance(members, dict) and (value := members.get(name)) is not None:
            yield key.tombstone(Selector.PROPERTY, property_text(value), name)


def property_text(value: object) -> str:
    """A value of a property as an erasure names it: text as it is, others as JSON."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """A column of text as one array without a dictionary."""
    whole = column.cast(pa.string()) if column.type != pa.string() else column
    return whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
