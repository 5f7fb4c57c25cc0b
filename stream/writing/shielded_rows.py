"""Shielded rows: rows of live items that match a shield of their website are dropped and counted.

A shield applies to what was received after it was saved. So a batch that is written again, also
after a shield was added, drops the same rows, and the ledger counts them once. Shielded rows are
dropped before deduplication and sessions: they begin no visit.

Addresses are compared as the collector keeps them, cut to /24 or /48; address and user agent of a
server that names no visitor match nothing.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from ipaddress import ip_address, ip_network
from typing import Any

import pyarrow as pa
from msgspec import Struct

from schemas.envelope import Envelope
from schemas.registry import Shield
from schemas.registry.saved_records import SavedRecord
from stream.enrich.rules.cache import GenerationalCache
from stream.enrich.rules.lookups import Lookups
from stream.enrich.rules.urls import page_cache
from stream.rows.arrow_tables import kept_rows
from stream.rows.ledger import LedgerCounts
from stream.rows.quarantine import QuarantineEntry
from stream.rows.repeated_column import RepeatedColumn, combined
from stream.rows.row_batch import KEY_COLUMNS, Column, RowBatch

SHIELD = "shield"
"""Label of the metric for all of them; in the ledger the drop reason is followed by the id."""

Matches = tuple[Shield, ...]


def metric_label(reason: str) -> str:
    """The drop reason without the id of a shield."""
    return SHIELD if reason.startswith(f"{SHIELD} ") else reason


def drop_shielded(
    stored: pa.Table,
    rows: RowBatch,
    failed: Sequence[QuarantineEntry],
    lookups: Lookups,
    counts: LedgerCounts,
) -> pa.Table:
    """The rows of a table without shielded ones, which are counted as dropped.

    `rows` are the same rows, and `failed` those of them that the table lacks.
    """
    shields = shielded_rows(rows, lookups)
    if not shields:
        return stored
    failed_keys = {entry.row_key for entry in failed}
    keep = []
    for index, key in enumerate(zip(*(rows.columns[name] for name in KEY_COLUMNS), strict=True)):
        if key in failed_keys:
            continue
        keep.append(index not in shields)
        if index in shields:
            envelope, (partition, offset, _) = rows.envelopes[index], key
            reason = f"{SHIELD} {shields[index].id}"
            counts.add_shielded(
                reason, envelope.subject_id, envelope.received_ms, partition, offset
            )
    return kept_rows(stored, pa.array(keep, pa.bool_()))


def shielded_rows(rows: RowBatch, lookups: Lookups) -> Mapping[int, Shield]:
    """The shield that each row is dropped by, by row index."""
    by_website = lookups.saved().by_website
    websites = {envelope.subject_id for envelope in rows.envelope_runs()} if by_website else ()
    of_website = {
        website: matchers
        for website in websites
        if website in by_website and (matchers := _matchers(website, by_website[website]))
    }
    if not of_website:
        return {}
    subjects = rows.per_envelope(lambda envelope: envelope.subject_id)
    shields: dict[int, Shield] = {}
    for kind in {kind for matchers in of_website.values() for kind in matchers}:
        column = _compared(rows, kind)
        if column is None:
            continue
        matches = combined(subjects, column).mapped(partial(_of_pair, of_website, kind))
        for index in matches.where(bool).nonzero()[0].tolist():
            received_ms = rows.envelopes[index].received_ms
            for shield in matches[index]:
                if shield.updated_at <= received_ms:
                    shields.setdefault(index, shield)
                    break
    return shields


Matchers = Mapping[str, GenerationalCache[str, Matches]]
"""The shields of a website that match a value, by kind of shield."""


class _OfWebsite(Struct):
    """The matchers of a website, with the records that they were made from."""

    records: Mapping[str, SavedRecord]
    matchers: Matchers


_compiled: dict[str, _OfWebsite] = {}


def _matchers(website: str, records: Mapping[str, SavedRecord]) -> Matchers:
    """The matchers of a website; made anew when its saved records change."""
    compiled = _compiled.get(website)
    if compiled is None or compiled.records is not records:
        shields = [record for record in records.values() if isinstance(record, Shield)]
        compiled = _compiled[website] = _OfWebsite(records, _compile(shields))
    return compiled.matchers


def _compile(shields: Iterable[Shield]) -> Matchers:
    by_kind: dict[str, list[Shield]] = {}
    for shield in shields:
        by_kind.setdefault(shield.kind, []).append(shield)
    return {
        kind: GenerationalCache(_matcher(of_kind), size=4096) for kind, of_kind in by_kind.items()
    }


def _matcher(shields: Sequence[Shield]) -> Callable[[str], Matches]:
    """The shields of one kind that match a value."""
    if shields[0].kind == "address":
        networks = [(ip_network(shield.value), shield) for shield in shields]

        def match_address(text: str) -> Matches:
            address = ip_address(text)
            return tuple(shield for network, shield in networks if address in network)

        return match_address
    flags = re.DOTALL if shields[0].kind == "path" else re.DOTALL | re.IGNORECASE
    texts = [_pattern(shield) for shield in shields]
    any_of_them = re.compile("|".join(f"(?:{text})" for text in texts), flags)
    patterns = [re.compile(text, flags) for text in texts]

    def match_text(text: str) -> Matches:
        if not any_of_them.fullmatch(text):
            return ()
        return tuple(
            shield
            for shield, pattern in zip(shields, patterns, strict=True)
            if pattern.fullmatch(text)
        )

    return match_text


def _pattern(shield: Shield) -> str:
    """The regular expression of a shield, for whole texts."""
    value = shield.value
    if "*" in value:
        first, *middle, last = map(re.escape, re.split(r"\*+", value))
        # Of each text between stars the first place is taken, without trying others: texts of
        # strangers would else take minutes.
        return first + "".join(f"(?>.*?{text})" for text in middle) + f".*{last}"
    if shield.kind == "path":
        return re.escape(page_cache[value].path or value)
    if shield.kind == "agent":
        return f".*{re.escape(value)}.*"
    sub_domains = r"(?:.*\.)?" if shield.kind == "referrer" else ""
    return sub_domains + re.escape(value)


def _of_pair(
    of_website: Mapping[str, Matchers], kind: str, pair: tuple[str, str | None]
) -> Matches:
    """The shields of one kind that match a pair of website and value."""
    website, value = pair
    matchers = of_website.get(website, {})
    return matchers[kind][value] if value and kind in matchers else ()


def _compared(rows: RowBatch, kind: str) -> Column | None:
    """What shields of a kind are compared with; None when these items have no such fact."""
    if kind == "address":
        return rows.per_envelope(_address)
    if kind == "agent":
        return rows.per_sender(_agent)
    column = rows.columns.get(kind)
    if kind != "referrer" or column is None:
        return column
    urls = column if isinstance(column, RepeatedColumn) else combined(column).mapped(_only)
    return urls.mapped(_host)


def _address(envelope: Envelope) -> str:
    return envelope.client_network if envelope.has_visitor else ""


def _agent(envelope: Envelope) -> str:
    return envelope.user_agent if envelope.has_visitor else ""


def _only(values: tuple[Any, ...]) -> Any:
    return values[0]


def _host(url: str | None) -> str:
    """The host of a referrer as it is stored; empty for `Direct`."""
    return url.partition("://")[2].partition("/")[0] if url else ""
