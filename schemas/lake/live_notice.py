"""LiveNotice: a file beside a table that says when a live view of it was last open.

A query service writes it, workers read it, whatever machine they are on: a file in the lake, with
the time of writing. Workers then store small batches sooner.
"""

from pathlib import Path

from schemas.lake.object_store import ObjectFolder, is_object_store
from schemas.runtime.files import read_regular
from schemas.tables import Table

LIVE_FOLDER = "_live"
"""Folder in the lake; table readers ignore names that begin with an underscore."""


class LiveNotice:
    """The notice of one table."""

    def __init__(self, lake: str, table: Table) -> None:
        self._name = table.name
        self._folder: Path | ObjectFolder
        if is_object_store(lake):
            self._folder = ObjectFolder(f"{lake.rstrip('/')}/{LIVE_FOLDER}")
        else:
            self._folder = Path(lake.removeprefix("file://")) / LIVE_FOLDER

    def write(self, now_ms: int) -> None:
        """Note that a live view is open now; OSError when it cannot be written."""
        content = str(now_ms).encode()
        if isinstance(self._folder, ObjectFolder):
            self._folder.put(self._name, content)
        else:
            self._folder.mkdir(exist_ok=True)
            (self._folder / self._name).write_bytes(content)

    def read(self) -> int:
        """When it was written, Unix milliseconds; 0 if it never was, or cannot be read now."""
        try:
            if isinstance(self._folder, ObjectFolder):
                return int(self._folder.read(self._name))
            return int(read_regular(self._folder / self._name))
        except (OSError, ValueError):
            return 0
