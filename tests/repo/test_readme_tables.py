"""The READMEs say what the code does, because their tables are made from its values."""

from pathlib import Path

import pytest

from deploy.docs.readme_tables import BLOCKS, fill_blocks

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("readme", BLOCKS)
def test_a_readme_has_the_tables_that_the_code_would_write(readme: str) -> None:
    text = (ROOT / readme).read_text()

    assert fill_blocks(text, BLOCKS[readme]) == text, "run `make docs`"


@pytest.mark.parametrize("folder", ["schemas", "ingest", "stream", "query", "deploy"])
def test_a_readme_ends_with_its_decisions(folder: str) -> None:
    text = (ROOT / folder / "README.md").read_text()

    assert text.rpartition("\n## ")[2].startswith("Decisions")
