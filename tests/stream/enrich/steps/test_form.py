"""Abandoned forms."""

import pytest

from schemas.kinds import (
    PAGE_ENGAGEMENT,
)
from tests.stream.enrich.enriched_rows import facts


@pytest.mark.parametrize(
    ("fields", "forms", "abandoned"),
    [(2, None, True), (2, 0, True), (2, 1, False), (0, 0, False), (None, None, False)],
)
def test_a_form_is_left_behind_when_it_was_begun_and_not_sent(
    fields: int | None, forms: int | None, abandoned: bool
) -> None:
    item = {"path": "/join", "formFieldCount": fields, "formSubmitCount": forms}

    assert facts(item, "form_abandoned", kind=PAGE_ENGAGEMENT) == (abandoned,)
