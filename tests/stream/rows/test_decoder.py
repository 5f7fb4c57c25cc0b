"""Undecodable chunks, envelopes and items are quarantined with their bytes; nothing else is."""

import base64
import json
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from schemas.envelope import Envelope, encode_chunk, encode_envelope
from schemas.kinds import CUSTOM_EVENT, KINDS, Kind
from schemas.tables import EVENTS, LEDGER, QUARANTINE
from schemas.telemetry.instruments import REGISTRY
from stream.enrich.pipeline import enrich_rows
from stream.enrich.rules.lookups import Lookups
from stream.rows.arrow_tables import to_arrow
from stream.rows.decoder import decode_batch
from stream.rows.ledger import LedgerCounts
from stream.rows.quarantine import decode_payload
from stream.writing.batch_writer import BatchWriter, WriteResult
from tests.stream import builders
from tests.stream.builders import NOON_MS, a_message, an_envelope, balance, named, rows


def test_one_bad_item_is_quarantined_alone(tmp_path: Path) -> None:
    config = builders.settings(tmp_path)
    bad = {"name": ""}
    batch = [a_message(0, an_envelope([{"name": "a"}, bad, {"name": "c"}]), named("d"))]

    assert BatchWriter(config, CUSTOM_EVENT, Lookups()).write(batch) == WriteResult(3, 1, {0: 1})
    assert rows(config, EVENTS, "name", "seq") == [("a", 0), ("c", 2), ("d", 3)]
    columns = ("subject_id", "topic", "stage", "kafka_offset", "seq", "reason", "payload")
    found = rows(config, QUARANTINE, *columns)
    assert [row[:6] for row in found] == [
        ("w1", "events", "decode", 0, 1, "Expected `str` of length >= 1 - at `$.name`")
    ]
    assert json.loads(decode_payload(found[0][6])) == bad


def test_items_that_privacy_dropped_are_counted_under_their_reason(tmp_path: Path) -> None:
    config = builders.settings(tmp_path)
    dropped = an_envelope(b"[]", drop_reason="do_not_track")
    batch = [a_message(0, named("a"), replace(dropped, count=2), named("b"))]

    assert BatchWriter(config, CUSTOM_EVENT, Lookups()).write(batch) == WriteResult(2, 0, {0: 1})
    assert rows(config, EVENTS, "name", "seq") == [("a", 0), ("b", 3)]
    counts = rows(config, LEDGER, "received", "stored", "dropped", "drop_reason")
    assert counts == [(2, 0, 2, "do_not_track"), (2, 2, 0, None)]


def test_a_garbage_chunk_is_quarantined_with_its_offset_and_the_stream_goes_on(
    tmp_path: Path,
) -> None:
    config = builders.settings(tmp_path)
    later = encode_chunk([])[:-1] + b"\x99"
    batch = [
        a_message(0, named("a")),
        a_message(1, body=b"\x00garbage"),
        a_message(2, body=b""),
        a_message(3, body=later),
        a_message(4, named("b")),
    ]

    stage = {"topic": "events", "stage": "decode"}
    before = REGISTRY.get_sample_value("tidemark_quarantined_items_total", stage) or 0

    assert BatchWriter(config, CUSTOM_EVENT, Lookups()).write(batch) == WriteResult(2, 3, {0: 5})
    assert REGISTRY.get_sample_value("tidemark_quarantined_items_total", stage) == before + 3
    found = rows(config, QUARANTINE, "kafka_offset", "stage", "subject_id", "payload")
    assert found == [
        (1, "decode", None, base64.b64encode(b"\x00garbage").decode()),
        (2, "decode", None, ""),
        (3, "decode", None, base64.b64encode(later).decode()),
    ]
    assert balance(config, LEDGER) == (5, 2, 3)


def test_an_envelope_without_an_item_array_is_quarantined_whole(tmp_path: Path) -> None:
    config = builders.settings(tmp_path)
    batch = [a_message(0, an_envelope(b'{"name": "a"'), named("b"))]

    assert BatchWriter(config, CUSTOM_EVENT, Lookups()).write(batch) == WriteResult(1, 1, {0: 1})
    assert rows(config, QUARANTINE, "subject_id", "seq") == [("w1", 0)]
    assert rows(config, EVENTS, "name", "seq") == [("b", 1)]


def test_an_envelope_with_an_impossible_time_of_receipt_is_quarantined(tmp_path: Path) -> None:
    config = builders.settings(tmp_path)
    batch = [a_message(0, an_envelope([{"name": "a"}], received_ms=2**62))]

    assert BatchWriter(config, CUSTOM_EVENT, Lookups()).write(batch) == WriteResult(0, 1, {0: 1})
    assert rows(config, QUARANTINE, "reason") == [(f"received_ms {2**62}",)]


def test_a_value_that_does_not_fit_its_column_quarantines_its_row_only(tmp_path: Path) -> None:
    rows = decode_batch(CUSTOM_EVENT, [a_message(0, named("a", "b", "c"))], LedgerCounts({})).rows
    rows, _ = enrich_rows(rows, Lookups())
    first, _, third = rows.columns["visitor_hash"]
    rows.columns["visitor_hash"] = [first, 2**64, third]

    table, refused = to_arrow(rows)

    assert table["name"].to_pylist() == ["a", "c"]
    assert [(q.seq, q.stage.value) for q in refused] == [(1, "write")]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@st.composite
def odd_items(draw: st.DrawFn, kind: Kind) -> Any:
    """An object whose known fields have any values, valid ones among them."""
    names = [field.encode_name for field in msgspec.structs.fields(kind.item)]
    good = {
        "name": st.sampled_from(["screen_view", "link_out", "x"]),
        "path": st.text() | st.just("https://a.example/%zz?utm_source=%ff"),
        "metricName": st.just("LCP"),
        "metricValue": st.floats(-1e12, 1e12),
        "message": st.text(),
        "slug": st.text(max_size=64),
        "properties": st.dictionaries(st.text(), anything, max_size=3),
        "timestamp": st.floats(allow_nan=False, allow_infinity=False) | st.text() | st.integers(),
    }
    return draw(
        st.fixed_dictionaries({}, optional={n: good.get(n, st.text() | anything) for n in names})
    )


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
@given(st.data())
def test_no_chunk_stops_the_pipeline_and_the_ledger_adds_up(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(KINDS))
    bodies = data.draw(st.lists(st.binary(max_size=60) | st.none(), max_size=3))
    items = data.draw(st.lists(odd_items(kind), max_size=5))
    envelope = Envelope(
        data.draw(st.text(max_size=9)),
        "o1",
        NOON_MS,
        len(items),
        json.dumps(items).encode(),
        data.draw(st.text(max_size=9)),
        data.draw(st.text(max_size=30)),
        data.draw(st.booleans()),
        data.draw(st.dictionaries(st.sampled_from(["referer", "purpose"]), st.text())),
    )
    sealed = encode_chunk([encode_envelope(envelope)])
    arrived = [a_message(n, body=sealed if b is None else b) for n, b in enumerate([*bodies, None])]
    tally = LedgerCounts({})

    opened = decode_batch(kind, arrived, tally)
    rest, failed = enrich_rows(opened.rows, Lookups())
    table, unfit = to_arrow(rest)

    refused = [*opened.quarantined, *failed, *unfit]
    for item in refused:
        tally.add_quarantined(item)
    assert tally.stored_count() == table.num_rows
    assert not failed
    assert not unfit
