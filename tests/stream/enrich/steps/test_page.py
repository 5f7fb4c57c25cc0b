"""Host, path and title of the page, by golden cases."""

from typing import Any

import pytest

from tests.stream.enrich.enriched_rows import case_facts
from tests.stream.enrich.golden_cases import cases

COLUMNS = ("host", "path", "title")


@pytest.mark.parametrize("case", cases("page"))
def test_a_page_is_what_its_url_says(case: dict[str, Any]) -> None:
    assert case_facts(case, *COLUMNS) == case["row"]
