"""Whether an API key was sent."""

import pytest

from schemas.kinds import (
    KINDS,
    Kind,
)
from tests.stream.enrich.enriched_rows import facts


@pytest.mark.parametrize(
    "kind", [k for k in KINDS if k.table.column("trusted")], ids=lambda kind: kind.name
)
def test_a_row_says_whether_a_key_came_with_it(kind: Kind) -> None:
    item = {"name": "x"} if kind.name == "custom_event" else {"profileId": "p1"}

    assert facts(item, "trusted", kind=kind) == (False,)
    assert facts(item, "trusted", kind=kind, trusted=True) == (True,)
