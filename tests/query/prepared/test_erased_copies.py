"""Rollups of data files that an erasure replaced are removed from this machine."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest

from query.engine.cache_folder import CacheFolder
from query.engine.data_file_source import LakeFolder
from query.engine.snapshots import SnapshotCache
from query.prepared.erased_copies import ErasedCopies
from query.prepared.prepared_results import PreparedResults
from schemas.lake.delta_table import DataFile
from schemas.registry import Erasure, ErasureState, Selector
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS
from stream.maintenance.merge_plan import live_data_files
from stream.storage.delta_commit import LakeTable
from tests.query.lake import a_view
from tests.query.prepared.test_rebuild import files, run
from tests.query.query_service import NOW, InProcessService


class CachedFiles(LakeFolder, frozen=True):
    """Takes part in the removal of cached data files."""

    cache: CacheFolder

    def remove_others(self, data_files: Iterable[DataFile]) -> None:
        self.cache.remove_others({Path(file.path).name for file in data_files})


def replace_a_file(service: InProcessService) -> None:
    """Of the three data files of the shop and the blog, one of the shop's is removed."""
    for website in ("shop", "shop", "blog"):
        service.holds(a_view("/", website=website))
    run(service, ["shop", "blog"])
    table = LakeTable(Settings(data_dir=str(service.data)), EVENTS)
    data_files = live_data_files(table.handle, EVENTS)
    [replaced, _] = [file for file in data_files if file.subjects == ("shop", "shop")]
    table.replace_files({replaced.path: "2026-11-10"}, [])


def copies_of(service: InProcessService, cache: CacheFolder) -> ErasedCopies:
    lake = str(service.data / "lake")
    results = service.results
    assert isinstance(results, PreparedResults)
    source = CachedFiles(lake, cache)
    snapshots = SnapshotCache(lake, lambda: NOW)
    return ErasedCopies(lambda: service.follower.snapshot, snapshots, source, results)


@pytest.mark.parametrize(
    ("state", "rollups", "cached"),
    [
        (ErasureState.PENDING, 3, 1),
        (ErasureState.REWRITTEN, 2, 1),
        (ErasureState.DONE, 2, 0),
    ],
)
def test_rollups_go_with_the_rewrite_and_cached_files_when_it_is_done(
    unused_service: InProcessService, state: ErasureState, rollups: int, cached: int
) -> None:
    service = unused_service
    replace_a_file(service)
    cache = CacheFolder(service.data / "cache", 2**20)
    cache.path("replaced.parquet").write_bytes(b"rows")
    kinds = len({path.name.partition("-")[0] for path in files(service)})
    service.store.create(
        Erasure(
            id="er1",
            organization_id="acme",
            website_id="shop",
            selector=Selector.VISITOR,
            value_hashes=(),
            state=state,
            created_at=NOW,
            updated_at=NOW,
        )
    )
    service.follower.refresh()

    asyncio.run(copies_of(service, cache).remove_copies())

    assert len(files(service)) == rollups * kinds
    assert len(list((service.data / "cache").glob("*.parquet"))) == cached
