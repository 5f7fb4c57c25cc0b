"""The paths that tests/groups.py lists exist."""

from tests.groups import GROUPS, LONG
from tests.repo.source_tree import ROOT


def test_groups_list_paths_that_exist() -> None:
    paths = [*(path for group in GROUPS for path in group), *LONG]

    assert [path for path in paths if not (ROOT / path).exists()] == []
