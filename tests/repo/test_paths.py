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
    "ingest/endpoints/test_mixed_hostile_input.py": "hostile bodies of the mixed routes",
    "ingest/endpoints/test_proxy_country.py": "country headers, from setting to stored envelope",
    "ingest/publishing/test_producer_on_kafka.py": "the producer on a real broker",
    "ingest/server/test_hostile_input.py": "hostile connections to a real collector",
    "ingest/test_shutdown.py": "a whole process that is told to stop",
    "query/standard/types/test_funnel_goals_paths_retention.py": "the types with ordered steps",
    "query/test_authorization.py": "every key on every route, against a second access model",
    "query/test_hostile_queries.py": "hostile bodies of every query endpoint",
    "schemas/http/test_memory_under_flood.py": "memory of both services under attack",
    "stream/state/test_forged_ids.py": "ids that strangers choose, through a whole batch writer",
    "stream/storage/test_table_files.py": "stored tables, read as any engine reads them",
    "stream/test_worker_on_damaged_logs.py": "workers and maintenance beside a damaged log",
    "stream/test_worker_with_kafka.py": "whole workers on a real broker",
    "stream/writing/test_exactly_once.py": "crashes and repetitions between any two steps",
    "stream/writing/test_import_deleted_during_backfill.py": "deletions between two commits",
    "stream/writing/test_reference_model.py": "the writer against a slow reference",
}
"""Tests of what no single module does, with what they hold."""


def has_subject(test: str) -> bool:
    """Whether a module or folder of the packages lies where a test file says."""
    folder, _, file = test.rpartition("/")
    subject = file.removeprefix("test_").removesuffix(".py")
    places = [ROOT / folder / name for name in (f"{subject}.py", f"__{subject}__.py", subject)]
    return any(path.exists() for path in places) or folder.endswith(f"/{subject}")


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
