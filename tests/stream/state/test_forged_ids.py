"""Forged event ids never match the items of other senders."""

from pathlib import Path

import pytest

from schemas.kinds import CUSTOM_EVENT
from stream.enrich.rules.lookups import Lookups
from stream.writing.batch_writer import BatchWriter, WriteResult
from tests.stream.builders import a_message, an_envelope, settings


@pytest.mark.parametrize(
    ("item", "idempotency_key"),
    [({"name": "a", "eventId": "order-1"}, ""), ({"name": "a"}, "order-1")],
)
def test_an_id_from_a_page_does_not_shadow_the_item_of_a_server(
    tmp_path: Path, item: dict[str, str], idempotency_key: str
) -> None:
    writer = BatchWriter(settings(tmp_path), CUSTOM_EVENT, Lookups())
    made_up = an_envelope([item], idempotency_key=idempotency_key)
    order = an_envelope([item], idempotency_key=idempotency_key, trusted=True)

    assert writer.write([a_message(0, made_up)]) == WriteResult(1, 0, {0: 1})
    assert writer.write([a_message(1, order)]) == WriteResult(1, 0, {0: 2})
    assert writer.write([a_message(2, order, made_up)]) == WriteResult(0, 0, {0: 3}, 2)
