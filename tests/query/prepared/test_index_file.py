"""Files of indexes: read as they were written."""

from pathlib import Path

import pytest

from query.prepared.index_file import KINDS, SOURCES
from tests.query.prepared.indexes import BOTH, INDEXES, Process, is_alike


@pytest.mark.parametrize("index", INDEXES, ids=lambda index: type(index).__name__)
def test_an_index_is_read_as_it_was_written(tmp_path: Path, index: object) -> None:
    Process(tmp_path).files.write("x", BOTH, index)

    assert is_alike(Process(tmp_path).files.read("x", BOTH), index)


def test_every_module_that_makes_an_index_is_a_source() -> None:
    makers = {kind.__module__.rpartition(".")[2] for kind in KINDS.values()}

    assert makers - {"part_folder"} <= {*SOURCES}
