"""Where queries read data files: in the lake itself, or in a local cache of an object store.

DuckDB only ever reads local files: it has no access to the network.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from query.engine.cache_folder import CacheFolder
from query.engine.data_file_cache import DataFileCache
from schemas.lake.data_files import frame_problem
from schemas.lake.delta_table import DataFile
from schemas.lake.object_store import ObjectFolder, is_object_store
from schemas.runtime.settings import Settings

CACHE_FOLDER = "lake-cache"
IN_USE_SECONDS = 60.0
"""Time after the longest query during which a file that it used is not removed."""


class DataFileSource(Protocol):
    """Gives local paths of data files."""

    @property
    def folder(self) -> str:
        """The folder that holds them; an engine may read nothing else."""

    def local_path(self, data_file: DataFile) -> str:
        """Where the file is, or will be once it was fetched."""

    async def fetch(self, data_files: Sequence[DataFile]) -> list[str]:
        """Local paths of the files; FetchFailed for one that is missing or damaged."""

    def keep(self, paths: Iterable[str]) -> None:
        """Say that these paths are still being read."""

    def discard_damaged(self, data_files: Sequence[DataFile]) -> bool:
        """Discard damaged copies, so that they are fetched again; whether there were any."""

    def remove_others(self, data_files: Iterable[DataFile]) -> None:
        """Remove the copies of all other files."""

    async def problem(self, data_file: DataFile) -> str | None:
        """The problem of a file by its size and first and last bytes, as the end of a sentence."""


class LakeFolder(Struct, frozen=True):
    """The files of a lake on a local disk: they are read where they are."""

    folder: str

    def local_path(self, data_file: DataFile) -> str:
        return data_file.path

    async def fetch(self, data_files: Sequence[DataFile]) -> list[str]:
        return [data_file.path for data_file in data_files]

    def keep(self, paths: Iterable[str]) -> None:
        pass

    def discard_damaged(self, data_files: Sequence[DataFile]) -> bool:  # noqa: ARG002
        return False

    def remove_others(self, data_files: Iterable[DataFile]) -> None:
        pass

    async def problem(self, data_file: DataFile) -> str | None:
        return frame_problem(Path(data_file.path), data_file.size)


def data_file_source(settings: Settings) -> DataFileSource:
    """The source for the lake of the settings."""
    if not is_object_store(settings.lake_url):
        return LakeFolder(settings.lake_url)
    folder = CacheFolder(
        settings.data / CACHE_FOLDER,
        settings.lake_cache_mb * 2**20,
        IN_USE_SECONDS + settings.query_seconds,
    )
    return DataFileCache(ObjectFolder(settings.lake_url), folder, settings.query_seconds)
