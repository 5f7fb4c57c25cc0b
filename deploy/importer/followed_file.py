"""FollowedFile: an access log that grows; its lines as they come, until it is rotated."""

import hashlib
import os
import time
from collections.abc import Generator
from pathlib import Path

from deploy.importer.csv_rows import InvalidFile
from deploy.importer.member_lines import FileLine, parsed_line
from deploy.importer.source_file import SourceFile

FOLLOWED_FORMATS = ("access log", "ndjson")
POLL_SECONDS = 1.0


class FollowedFile(SourceFile):
    """Each `lines()` goes on where the one before ended; a line counts once it is complete.

    The file is known again by its first line, because it grows.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._raw = path.open("rb")
        first = self._raw.readline()
        self._raw.seek(0)
        is_plain = len(self.members) == 1 and not self.members[0].is_zipped
        if not is_plain or self.format not in FOLLOWED_FORMATS or not first.endswith(b"\n"):
            self._raw.close()
            raise InvalidFile(
                f"{path.name} cannot be followed: it must be an access log with a line in it, as "
                "text or JSON lines, and not packed"
            )
        self.fingerprint = hashlib.sha256(b"followed\0" + first).hexdigest()
        self._number = 0

    def lines(self) -> Generator[FileLine, None, None]:
        """The complete lines that were not read yet."""
        while (line := self._raw.readline()).endswith(b"\n"):
            self._number += 1
            text = line.decode(errors="replace").rstrip("\r\n")
            if text.strip():
                yield parsed_line(self._number, text, self.format)
        self._raw.seek(-len(line), os.SEEK_CUR)

    def wait_for_lines(self, until: float) -> bool:
        """Wait until the file has grown, or the monotonic time has come.

        False when another file has its name, or it was cut; its last lines may not be read yet.
        """
        while True:
            time.sleep(POLL_SECONDS)
            try:
                named, opened = self.path.stat(), os.fstat(self._raw.fileno())
            except FileNotFoundError:
                return False
            if named.st_ino != opened.st_ino or opened.st_size < self._raw.tell():
                return False
            if opened.st_size > self._raw.tell() or time.monotonic() > until:
                return True

    def close(self) -> None:
        self._raw.close()
