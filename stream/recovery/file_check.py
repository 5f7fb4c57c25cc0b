"""Every live data file: whether it is there and whole, read from beginning to end."""

from collections.abc import Callable, Iterator

from msgspec import Struct

from schemas.kinds import lake_tables
from schemas.lake.data_files import file_problem
from schemas.lake.delta_table import UnreadableTable, open_table, read_version
from schemas.runtime.settings import Settings
from stream.storage.object_store import storage_at


class FileProblem(Struct, frozen=True):
    """A data file that is missing or damaged, or a table whose log is."""

    path: str
    """Table and path in it; of a log the table alone."""
    problem: str


def check_data_files(
    settings: Settings,
    since: str = "",
    progress: Callable[[int, int], None] = lambda files, size: None,  # noqa: ARG005
) -> Iterator[FileProblem]:
    """Compare each file of the days from `since` on with size and checksum.

    One that was replaced meanwhile is left out: a file is missing only in the newest version.
    """
    files = size = 0
    for table in lake_tables():
        try:
            handle = open_table(settings.lake_url, table)
            if handle is None:
                continue
            root = handle.table_uri.rstrip("/")
            store = storage_at(root)
            problems: dict[str, str] = {}
            for file in read_version(handle, table).data_files:
                if file.day < since:
                    continue
                path = file.path.removeprefix(f"{root.removeprefix('file://')}/")
                try:
                    with store.local_copy(path) as copy:
                        problem = file_problem(copy, file.size)
                except FileNotFoundError:
                    problem = "is missing"
                if problem:
                    problems[file.path] = problem
                files, size = files + 1, size + file.size
                progress(files, size)
            if problems:
                handle.update_incremental()
                live = {file.path for file in read_version(handle, table).data_files}
                for path in problems.keys() & live:
                    relative = path.removeprefix(f"{root.removeprefix('file://')}/")
                    yield FileProblem(f"{table.name}/{relative}", problems[path])
        except UnreadableTable as error:
            yield FileProblem(table.name, f"cannot be opened ({error})")
