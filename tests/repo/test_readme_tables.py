"""Generated tables are fresh, and each folder has a README, a reference and its decisions."""

from pathlib import Path

import pytest

from deploy.docs.readme_tables import BLOCKS, fill_blocks

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", BLOCKS)
def test_a_page_has_the_tables_that_the_code_would_write(page: str) -> None:
    text = (ROOT / page).read_text()

    assert fill_blocks(text, BLOCKS[page]) == text, "run `make docs`"


@pytest.mark.parametrize("folder", ["schemas", "ingest", "stream", "query", "deploy"])
@pytest.mark.parametrize("page", ["REFERENCE.md", "DECISIONS.md"])
def test_a_readme_links_its_reference_and_its_decisions(folder: str, page: str) -> None:
    assert (ROOT / folder / page).exists()
    assert f"({page})" in (ROOT / folder / "README.md").read_text()
