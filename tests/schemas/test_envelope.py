"""Chunks are decoded as encoded; other bytes are rejected."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.envelope import (
    Envelope,
    EnvelopeTemplate,
    decode_chunk,
    encode_chunk,
    encode_envelope,
)

TEXT = st.text(max_size=40)

ENVELOPES = st.builds(
    Envelope,
    subject_id=TEXT,
    organization_id=TEXT,
    received_ms=st.integers(0, 2**53),
    count=st.integers(0, 500),
    items=st.binary(max_size=200),
    client_network=TEXT,
    user_agent=TEXT,
    trusted=st.booleans(),
    headers=st.dictionaries(TEXT, TEXT, max_size=3),
    idempotency_key=TEXT,
    import_id=TEXT,
    anonymous_id=TEXT,
    awaited=st.booleans(),
)


@settings(deadline=None)  # the machine may be busy
@given(st.lists(ENVELOPES, max_size=5))
def test_a_chunk_is_decoded_as_it_was_encoded(envelopes: list[Envelope]) -> None:
    assert (
        decode_chunk(encode_chunk([encode_envelope(each) for each in envelopes])).envelopes
        == envelopes
    )


@pytest.mark.parametrize("count", [0, 15, 16, 65_535, 65_536])
def test_a_chunk_may_have_any_number_of_envelopes(count: int) -> None:
    envelope = Envelope("shop", "acme", 1, 1, b"[]")

    assert decode_chunk(encode_chunk([encode_envelope(envelope)] * count)).envelopes == (
        [envelope] * count
    )


@settings(deadline=None)  # the machine may be busy
@given(ENVELOPES, st.integers(0, 2**53), st.integers(0, 500), st.binary(max_size=300), TEXT)
def test_a_template_encodes_to_the_same_bytes(
    envelope: Envelope, received_ms: int, count: int, items: bytes, anonymous_id: str
) -> None:
    changed = msgspec.structs.replace(
        envelope, received_ms=received_ms, count=count, items=items, anonymous_id=anonymous_id
    )

    template = EnvelopeTemplate(envelope)

    assert template.encode(received_ms, count, items, anonymous_id) == encode_envelope(changed)


@settings(deadline=None)  # the machine may be busy
@given(st.binary(max_size=100))
def test_bytes_that_are_no_chunk_raise_one_error(message: bytes) -> None:
    try:
        chunk = decode_chunk(message)
    except ValueError:
        return
    assert chunk.format == 1


def test_a_later_chunk_format_is_rejected_by_number() -> None:
    with pytest.raises(ValueError, match="chunk of format 2; this worker reads 1"):
        decode_chunk(b"\x92\x02\x90")
