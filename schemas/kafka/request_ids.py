"""Request ids in the headers of a Kafka message, so that a worker's log names the requests."""

from collections.abc import Iterable, Sequence

HEADER = "tidemark-request-ids"
MAX_IDS = 8
"""A chunk with more requests has the ids of the first ones, and then a mark."""
MORE = "…"

Headers = list[tuple[str, bytes]]
"""As aiokafka takes them."""


def request_id_headers(ids: Sequence[str]) -> Headers:
    """The headers of a message with the items of these requests."""
    if not ids:
        return []
    shown = ids if len(ids) <= MAX_IDS else [*ids[:MAX_IDS], MORE]
    return [(HEADER, " ".join(shown).encode())]


def request_ids(headers: Iterable[tuple[str, bytes]]) -> bytes:
    """The ids in the headers of a message, separated by spaces; empty without any."""
    return next((value for name, value in headers if name == HEADER), b"")
