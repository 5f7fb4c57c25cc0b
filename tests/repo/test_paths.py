"""The test of a module is found by name: it lies at the same path below tests."""

import pytest

from tests.groups import GROUPS
from tests.repo.source_tree import PACKAGES, ROOT, relative, sources

ACROSS_MODULES = {
    "deploy/cli/test_commands.py": "all commands, called as a user calls them",
    "ingest/decoding/test_allowed_origins.py": "the origin rule of the registry, in the collector",
    "ingest/decoding/test_repeated_headers.py": "each reader of a header that comes twice",
    "ingest/endpoints/test_access.py": "every key on every route, against a second access model",
    "ingest/endpoints/test_cors.py": "preflights and response headers of every route",
    "ingest/endpoints/test_proxy_country.py": "country headers, from setting to stored envelope",
    "ingest/server/test_hostile_input.py": "hostile connections to a real collector",
    "ingest/test_shutdown.py": "a whole process that is told to stop",
    "query/test_authorization.py": "every key on every route, against a second access model",
    "query/test_hostile_queries.py": "hostile bodies of every query endpoint",
    "query/test_statement_text.py": "no text of a request in the SQL of any endpoint",
    "schemas/http/test_memory_under_flood.py": "memory of both services under attack",
    "stream/state/test_forged_ids.py": "ids that strangers choose, through a whole batch writer",
    "stream/storage/test_table_files.py": "stored tables, read as any engine reads them",
    "stream/writing/test_exactly_once.py": "crashes and repetitions between any two steps",
    "stream/writing/test_import_deleted_during_backfill.py": "deletions between two commits",
    "stream/writing/test_reference_model.py": "the writer against a slow reference",
}
"""Tests of what no single module does, with what they hold."""


def has_subject(test: str) -> bool:
    """Whether a module or folder of the packages lies where a test file says.

    The first words may name it: `test_debug_stream.py` tests one side of `debug.py`.
    """
    folder, _, file = test.rpartition("/")
    words = file.removeprefix("test_").removesuffix(".py").split("_")
    subjects = ["_".join(words[:count]) for count in range(1, len(words) + 1)]
    names = [name for each in subjects for name in (f"{each}.py", f"__{each}__.py", each)]
    return any((ROOT / folder / name).exists() for name in names) or folder.endswith(
        f"/{subjects[-1]}"
    )


@pytest.mark.parametrize("package", PACKAGES)
def test_a_test_lies_at_the_path_of_its_subject(package: str) -> None:
    tests = {
        relative(source).removeprefix("tests/")
        for source in sources(f"tests/{package}")
        if source.stem.startswith("test_")
    }
    across = {test for test in ACROSS_MODULES if test.startswith(f"{package}/")}

    assert {test for test in tests if not has_subject(test)} == across


@pytest.mark.parametrize("path", [path for group in GROUPS for path in group])
def test_groups_list_paths_that_exist(path: str) -> None:
    assert (ROOT / path).exists()
