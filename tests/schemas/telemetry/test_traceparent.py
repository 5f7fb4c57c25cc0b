"""The header `traceparent`: valid ones are read, everything else is as if there were none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.telemetry.traceparent import SpanId, parse, render

TRACE, SPAN = 0x4BF92F3577B34DA6A3CE929D0E0E4736, 0x00F067AA0BA902B7
EXAMPLE = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_the_example_of_the_specification_is_read() -> None:
    assert parse(EXAMPLE) == SpanId(TRACE, SPAN, recorded=True)
    assert parse(EXAMPLE[:-1] + b"0") == SpanId(TRACE, SPAN, recorded=False)


def test_a_later_version_may_have_more() -> None:
    assert parse(b"01" + EXAMPLE[2:] + b"-more") == SpanId(TRACE, SPAN, recorded=True)


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"ff" + EXAMPLE[2:],
        EXAMPLE + b"-more",
        EXAMPLE.upper(),
        b"00-" + b"0" * 32 + b"-00f067aa0ba902b7-01",
        b"00-4bf92f3577b34da6a3ce929d0e0e4736-" + b"0" * 16 + b"-01",
        b"01" + EXAMPLE[2:] + b"-" + b"x" * 100,
        EXAMPLE + b"\n",
    ],
)
def test_an_invalid_header_is_none(value: bytes | None) -> None:
    assert parse(value) is None


@given(st.integers(1, 2**128 - 1), st.integers(1, 2**64 - 1))
def test_what_is_rendered_is_read(trace: int, span: int) -> None:
    assert parse(render(trace, span)) == SpanId(trace, span, recorded=True)


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_none(value: bytes) -> None:
    found = parse(value)
    assert found is None or (found.trace and found.span)
