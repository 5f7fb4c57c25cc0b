"""Which ids of requests are taken from the sender."""

import contextvars

import pytest

from schemas.runtime.request_id import REQUEST_ID, begin_request


@pytest.mark.parametrize("sent", [b"a", b"4bf92f35-77b3:4da6/a3ce", b"x" * 64])
def test_a_valid_id_is_kept(sent: bytes) -> None:
    assert contextvars.copy_context().run(begin_request, sent) == sent


@pytest.mark.parametrize(
    "sent", [None, b"", b"x" * 65, b"two words", b"line\nbreak", b"-a", b"\xff", b'"quoted"']
)
def test_another_one_is_replaced(sent: bytes | None) -> None:
    context = contextvars.copy_context()

    made = context.run(begin_request, sent)

    assert made not in (sent, context.run(begin_request, sent))
    assert len(made) == 16
    assert context[REQUEST_ID] != ""


def test_log_lines_outside_of_a_request_name_none() -> None:
    assert REQUEST_ID.get() == ""
