"""Sends items of the quarantine again, repaired: each is stored once, with its time of receipt.

A replay is a new message in the item's topic partition: an envelope with the item alone, that names
where the item lay (`replay_of`). Where the item has no event id, this is its event id, so that the
deduplication of all items makes a second replay a duplicate, however often this is killed and
repeated. Browser, place and sender come from the request in Kafka; where Kafka no longer has it,
the item is sent without them.

Only items that would be stored are sent: each is decoded and enriched before, as workers do it.
"""

import base64
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
import pyarrow.compute as pc
from msgspec import Raw, Struct, structs

from schemas.envelope import Envelope, encode_chunk, encode_envelope
from schemas.kinds import IMPORTED_EVENT, KINDS, Kind
from schemas.lake.item_changes import EVENT_ID, ItemChange, NotChangeable
from schemas.lake.quarantine_reasons import replay_id
from schemas.registry.item_privacy import private_headers, without_ids, without_names
from schemas.registry.privacy import DEFAULT_PRIVACY, Privacy
from schemas.registry.tombstones import Tombstones
from schemas.runtime.clock import now_ms
from schemas.runtime.settings import Settings
from schemas.tables import QUARANTINE
from schemas.tables.column import ROW_KEY
from schemas.tables.identities import Identity
from stream.enrich.pipeline import enrich_rows
from stream.enrich.rules.lookups import Lookups
from stream.recovery.quarantined_messages import open_entries
from stream.recovery.topic_replay import messages_at, send_messages
from stream.rows.arrow_tables import to_arrow
from stream.rows.decoder import DECODE_ERRORS, MAX_RECEIVED_MS, decode_batch
from stream.rows.erased_rows import ERASED_REASON, payload_erasure
from stream.rows.kafka_message import KafkaMessage, UnreadableChunk, open_message
from stream.rows.ledger import LedgerCounts
from stream.rows.quarantine import MAX_PAYLOAD_BYTES, QuarantineStage
from stream.rows.row_batch import KEY_COLUMNS
from stream.storage.table_reader import TableReader

MAX_ITEMS = 5_000
"""Items of one replay; those that remain are of the next."""

OwnerOf = Callable[[str], str | None]
"""The organization of a website or link; None when there is none."""
PrivacyOf = Callable[[str], Privacy]


class ReplaySelection(Struct, frozen=True):
    """Which items of the quarantine are sent again."""

    website: str | None = None
    """Or the link; None: of all."""
    days: int = 7
    stage: str | None = None
    reason_contains: str | None = None
    position: str | None = None
    """TOPIC/PARTITION/OFFSET/SEQ of a single item."""


class PlannedItem(Struct, frozen=True, rename="camel"):
    """An item of the quarantine, and what its replay would be."""

    position: str
    website: str | None
    stage: str
    reason: str
    """Why it was quarantined."""
    problem: str | None
    """Why it cannot be replayed, or would fail again; None when it would be stored."""
    item: dict[str, Any] | None
    """What would be stored, before enrichment."""
    has_sender: bool
    """Whether Kafka still has its request, from which browser and place follow."""


class _Entry(Struct, frozen=True):
    """A row of the quarantine."""

    subject_id: str | None
    ts: datetime
    topic: str
    kafka_partition: int
    kafka_offset: int
    seq: int
    epoch: int | None
    stage: str
    reason: str
    payload: str

    @property
    def at(self) -> tuple[int, int]:
        return self.kafka_partition, self.kafka_offset

    @property
    def position(self) -> str:
        return f"{self.topic}/{self.kafka_partition}/{self.kafka_offset}/{self.seq}"

    @property
    def replay_id(self) -> str:
        return replay_id(self.topic, self.epoch or 0, *self.at, self.seq)

    @property
    def received_ms(self) -> int:
        return round(self.ts.timestamp() * 1000)


class ReplayPlan(Struct, frozen=True):
    """The selected items, and the messages that send those that would be stored."""

    items: Sequence[PlannedItem]
    messages: Mapping[str, Sequence[tuple[int, bytes]]]
    """Partition and bytes, by topic."""
    remaining: int
    """Items that were selected beyond MAX_ITEMS."""

    @property
    def sendable(self) -> int:
        """How many items would be sent."""
        return sum(map(len, self.messages.values()))


class NotReplayable(ValueError):
    """An item that cannot be sent again."""


def plan_replay(
    settings: Settings,
    selection: ReplaySelection,
    changes: Sequence[ItemChange],
    lookups: Lookups,
    owner_of: OwnerOf,
    privacy_of: PrivacyOf = lambda _: DEFAULT_PRIVACY,
) -> ReplayPlan:
    """Repair the selected items and try each; nothing is sent.

    Unreachable without Kafka, ValueError for what is no position.
    """
    entries, remaining = _selected(settings, selection)
    items: list[PlannedItem] = []
    messages: dict[str, list[tuple[int, bytes]]] = defaultdict(list)
    kinds = {settings.topic(kind.topic): kind for kind in (*KINDS, IMPORTED_EVENT)}
    by_topic: dict[str, list[_Entry]] = defaultdict(list)
    for entry in entries:
        by_topic[entry.topic].append(entry)
    tombstones = lookups.tombstones()
    for topic, of_topic in by_topic.items():
        requests = messages_at(settings, topic, (entry.at for entry in of_topic))
        drafts = [
            _draft(
                entry,
                kinds.get(topic),
                requests.get(entry.at),
                changes,
                owner_of,
                privacy_of,
                tombstones,
            )
            for entry in of_topic
        ]
        failures = _failures(kinds.get(topic), [draft.message for draft in drafts], lookups)
        for number, draft in enumerate(drafts):
            problem = draft.planned.problem or failures.get(number)
            items.append(structs.replace(draft.planned, problem=problem))
            if draft.message is not None and number not in failures:
                messages[topic].append((draft.partition, draft.message))
    return ReplayPlan(items, messages, remaining)


def send_replay(settings: Settings, plan: ReplayPlan) -> int:
    """Send what the plan has; the number of items that Kafka acknowledged, which are all.

    Unreachable when Kafka does not answer: what was sent then is a duplicate of the next replay.
    """
    for topic, messages in plan.messages.items():
        send_messages(settings, topic, messages)
    return plan.sendable


def _selected(settings: Settings, selection: ReplaySelection) -> tuple[list[_Entry], int]:
    """The first MAX_ITEMS entries, the oldest first, and the number of those beyond."""
    reader = TableReader.open(settings, QUARANTINE)
    if reader is None:
        return [], 0
    entries = open_entries(reader, selection.days, selection.website)
    chosen = pc.not_equal(entries["stage"], QuarantineStage.LOST.value)
    if selection.stage is not None:
        chosen = pc.and_(chosen, pc.equal(entries["stage"], selection.stage))
    if selection.reason_contains is not None:
        contains = pc.match_substring(entries["reason"], selection.reason_contains)
        chosen = pc.and_(chosen, contains)
    if selection.position is not None:
        topic, *numbers = selection.position.rsplit("/", len(KEY_COLUMNS))
        for name, value in zip(("topic", *KEY_COLUMNS), (topic, *map(int, numbers)), strict=True):
            chosen = pc.and_(chosen, pc.equal(entries[name], value))
    order = [(name, "ascending") for name in ("ts", "topic", *KEY_COLUMNS)]
    selected = entries.filter(chosen).sort_by(order)
    rows = selected.slice(0, MAX_ITEMS).to_pylist()
    payloads = _payloads(reader, rows)
    with_payload = [
        _Entry(**row, payload=payloads.get((row["topic"], *map(row.get, ROW_KEY)), ""))
        for row in rows
    ]
    return with_payload, max(0, selected.num_rows - MAX_ITEMS)


def _payloads(reader: TableReader, rows: Sequence[dict[str, Any]]) -> dict[tuple[object, ...], str]:
    """The payloads of entries, by topic and row key."""
    if not rows:
        return {}
    condition = (
        (pc.field("ts") >= rows[0]["ts"])
        & (pc.field("ts") <= rows[-1]["ts"])
        & pc.field("kafka_offset").isin({row["kafka_offset"] for row in rows})
        & pc.field("stage").isin({row["stage"] for row in rows})
    )
    wanted = {(row["topic"], *map(row.get, ROW_KEY)) for row in rows}
    payloads = {}
    for batch in reader.batches(("topic", *ROW_KEY, "payload"), condition):
        for *key, payload in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if tuple(key) in wanted:
                payloads[tuple(key)] = payload or ""
    return payloads


def _original_envelope(entry: _Entry, message: KafkaMessage | None) -> Envelope | None:
    """The envelope that the item came in, counted as the decoder counts; None without one.

    Another Kafka has other messages at the offsets of the one before: they are of other times.
    """
    if message is None or isinstance(message.chunk, UnreadableChunk):
        return None
    first = 0
    for envelope in message.chunk.envelopes:
        first += _item_count(envelope)
        if entry.seq < first:
            origin = envelope.subject_id, envelope.received_ms
            return envelope if origin == (entry.subject_id, entry.received_ms) else None
    return None


def _item_count(envelope: Envelope) -> int:
    if not 0 <= envelope.received_ms < MAX_RECEIVED_MS:
        return 1
    if envelope.drop_reason:
        return envelope.count
    try:
        return len(msgspec.json.decode(envelope.items, type=list[Raw]))
    except DECODE_ERRORS:
        return 1


class _Draft(Struct, frozen=True):
    """The replay of one item, which was not tried yet; `message` is None when there is none."""

    planned: PlannedItem
    partition: int
    message: bytes | None


def _draft(
    entry: _Entry,
    kind: Kind | None,
    request: KafkaMessage | None,
    changes: Sequence[ItemChange],
    owner_of: OwnerOf,
    privacy_of: PrivacyOf,
    tombstones: Tombstones,
) -> _Draft:
    original = _original_envelope(entry, request)
    item = message = problem = None
    try:
        privacy = privacy_of(entry.subject_id or "")
        item = _private(_repaired(entry, kind, changes), kind, privacy)
        of_subject = tombstones.of_subject(entry.subject_id)
        if payload_erasure(msgspec.json.encode(item), of_subject, tombstones.key):
            raise NotReplayable("its visitor, profile or property was erased")
        envelope = _replay_envelope(entry, original, item, owner_of, privacy)
        message = encode_chunk([encode_envelope(envelope)])
    except (NotReplayable, NotChangeable) as error:
        problem = str(error)
    planned = PlannedItem(
        entry.position,
        entry.subject_id,
        entry.stage,
        entry.reason,
        problem,
        item,
        original is not None,
    )
    return _Draft(planned, entry.kafka_partition, message)


def _repaired(entry: _Entry, kind: Kind | None, changes: Sequence[ItemChange]) -> dict[str, Any]:
    """The item, changed, with an event id."""
    if kind is None:
        raise NotReplayable(f"there is no topic '{entry.topic}' now")
    if kind is IMPORTED_EVENT:
        raise NotReplayable("a line of an import: correct the file and import it again")
    if entry.reason == ERASED_REASON:
        raise NotReplayable("its contents were erased")
    payload = base64.b64decode(entry.payload)
    try:
        item: Any = msgspec.json.decode(payload)
    except DECODE_ERRORS:
        is_cut = len(payload) >= MAX_PAYLOAD_BYTES
        reason = "its contents were cut at 64 KiB" if is_cut else "its contents are not JSON"
        raise NotReplayable(reason) from None
    if not isinstance(item, dict):
        raise NotReplayable("its contents are not one item")
    for change in changes:
        change.apply(item)
    item[EVENT_ID] = item.get(EVENT_ID) or entry.replay_id
    return item


def _private(item: dict[str, Any], kind: Kind | None, privacy: Privacy) -> dict[str, Any]:
    """The item without what its website leaves out now, also of what a change has put."""
    if kind is None or privacy is DEFAULT_PRIVACY:
        return item
    text = msgspec.json.encode(item)
    if privacy.consent == "required" and item.get("consent") is not True:
        if issubclass(kind.item, Identity):
            raise NotReplayable("without consent nothing of an identity is stored")
        text = without_ids(text, kind.item)
    private: dict[str, Any] = msgspec.json.decode(without_names(text, privacy))
    return private


def _replay_envelope(
    entry: _Entry,
    original: Envelope | None,
    item: dict[str, Any],
    owner_of: OwnerOf,
    privacy: Privacy,
) -> Envelope:
    """The envelope of the item alone, as it was received."""
    if entry.subject_id is None:
        raise NotReplayable("it names no website or link")
    organization = owner_of(entry.subject_id)
    if organization is None:
        raise NotReplayable(f"the website or link {entry.subject_id} does not exist")
    sent = original or Envelope(entry.subject_id, organization, 0, 1, b"")
    locate = sent.locate and privacy.location != "none"
    return structs.replace(
        sent,
        client_network=sent.client_network if locate else "",
        headers=private_headers(sent.headers, privacy),
        locate=locate,
        mask_texts=privacy.mask_texts,
        received_ms=entry.received_ms,
        count=1,
        items=msgspec.json.encode([item]),
        idempotency_key="",
        awaited=False,
        replay_of=entry.replay_id,
    )


def _failures(
    kind: Kind | None, messages: Sequence[bytes | None], lookups: Lookups
) -> dict[int, str]:
    """Why a worker would not store the items of messages, by their number here."""
    if kind is None:
        return {}
    now = now_ms()
    opened = [
        open_message(0, number, now, message)
        for number, message in enumerate(messages)
        if message is not None
    ]
    decoded = decode_batch(kind, opened, LedgerCounts({}))
    enriched, failed = enrich_rows(decoded.rows, lookups)
    _, unconvertible = to_arrow(enriched)
    return {
        entry.offset: f"fails again: {entry.reason}"
        for entry in (*decoded.quarantined, *failed, *unconvertible)
    }
