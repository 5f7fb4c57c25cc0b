"""Containers of files to import: folders and zip files; members may be gzip, zstd or Parquet.

A packed file that unpacks to more than its size lets expect is refused while it is read.
"""

import gzip
import io
import stat
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from msgspec import Struct
from msgspec.structs import replace

from deploy.importer.csv_rows import InvalidFile

GZIP_MAGIC, ZSTD_MAGIC = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
ZIP_MAGIC, PARQUET_MAGIC, AVRO_MAGIC = b"PK\x03\x04", b"PAR1", b"Obj\x01"
MAX_RATIO = 300
"""Of unpacked to packed bytes, beyond the first UNCHECKED_BYTES."""
UNCHECKED_BYTES = 64 * 2**20
MAX_UNPACKED_BYTES = 2**40
MAX_MEMBERS = 100_000
AVRO_MESSAGE = (
    "{} is an Avro file; export JSON lines or Parquet instead (BigQuery: JSON, newline-delimited)"
)
WORKBOOK_ENTRY = "[Content_Types].xml"
"""A file that the zip files of Office have."""
NESTED_ZIP_MESSAGE = "{} is a zip file in a zip file; unpack the outer one, and import its folder"


class Member(Struct, frozen=True):
    """One file of a container, or a file by itself."""

    name: str
    path: Path
    size: int
    """Packed bytes."""
    position: int | None = None
    """Its place in a zip file, where names may repeat; None for a file by itself."""
    is_skipped: bool = False
    """Whether it is not read: hidden, a link, outside of the container, or rejected lines."""

    @property
    def is_zipped(self) -> bool:
        return self.position is not None


def members_of(path: Path, name: str = "") -> Sequence[Member]:
    """The files of a folder or of a zip file in order of their names; a file by itself.

    `name` stands in messages, by default that of the path.
    """
    name = name or path.name
    if path.is_dir():
        paths = sorted(file for file in path.rglob("*") if file.is_file())
        members = [
            member
            for file in paths
            for member in _named(_in_folder(file, path), str(file.relative_to(path).parent))
        ]
    elif _start(path) == ZIP_MAGIC:
        members = _zipped(path, name)
    else:
        return [Member(name, path, path.stat().st_size)]
    if all(member.is_skipped for member in members):
        raise InvalidFile(f"{name} contains no files")
    if len(members) > MAX_MEMBERS:
        raise InvalidFile(f"{name} contains more than {MAX_MEMBERS:,} files")
    return members


def _in_folder(file: Path, folder: Path) -> Sequence[Member]:
    if _is_beside(file.relative_to(folder).parts):
        return [Member(file.name, file, 0, is_skipped=True)]
    return members_of(file)


def _named(members: Sequence[Member], folder: str) -> Sequence[Member]:
    """With the folder in their names, which are unique then."""
    before = "" if folder == "." else f"{folder}/"
    return [
        replace(each, name=f"{before}{each.path.name}/{each.name}")
        if each.is_zipped
        else replace(each, name=f"{before}{each.name}")
        for each in members
    ]


def _zipped(path: Path, name: str) -> list[Member]:
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except zipfile.BadZipFile as error:
        raise InvalidFile(f"{name} cannot be read as a zip file: {error}") from None
    files = [entry for entry in entries if not entry.is_dir()]
    if any(entry.filename == WORKBOOK_ENTRY for entry in files):
        raise InvalidFile(f"{name} is an Excel workbook; save its table as CSV")
    if any(entry.flag_bits & 1 for entry in files):
        raise InvalidFile(f"{name} is encrypted; unpack it, and import its folder")
    members = [
        Member(
            entry.filename,
            path,
            entry.compress_size,
            position,
            stat.S_ISLNK(entry.external_attr >> 16) or _is_beside(Path(entry.filename).parts),
        )
        for position, entry in enumerate(entries)
        if not entry.is_dir()
    ]
    return _numbered(sorted(members, key=lambda member: member.name))


def _numbered(members: Sequence[Member]) -> list[Member]:
    """With a number after a name that a file before has."""
    numbered: dict[str, Member] = {}
    repeated = Counter[str]()
    for member in members:
        name = member.name
        while name in numbered:
            repeated[member.name] += 1
            name = f"{member.name} ({repeated[member.name] + 1})"
        numbered[name] = replace(member, name=name)
    return list(numbered.values())


def _is_beside(parts: Sequence[str]) -> bool:
    """Hidden files, those of macOS, and rejects of earlier imports."""
    is_hidden = any(part.startswith((".", "__MACOSX")) for part in parts)
    return is_hidden or parts[-1].endswith(".rejects.ndjson")


def _start(path: Path) -> bytes:
    with path.open("rb") as raw:
        return raw.read(4)


@contextmanager
def opened(member: Member) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """The unpacked bytes of a member, and the file below them, whose position is the progress."""
    with ExitStack() as stack:
        if member.position is not None:
            archive = stack.enter_context(zipfile.ZipFile(member.path))
            entry = archive.infolist()[member.position]
            raw: Any = stack.enter_context(archive.open(entry))
        else:
            raw = stack.enter_context(member.path.open("rb"))
        start = raw.peek(4)[:4]
        if start.startswith(ZIP_MAGIC):
            raise InvalidFile(NESTED_ZIP_MESSAGE.format(member.name))
        if start == AVRO_MAGIC:
            raise InvalidFile(AVRO_MESSAGE.format(member.name))
        plain: Any = raw
        if start.startswith(GZIP_MAGIC):
            plain = stack.enter_context(gzip.open(raw))
        elif start == ZSTD_MAGIC:
            import pyarrow as pa  # only few imports need it

            plain = stack.enter_context(pa.CompressedInputStream(raw, "zstd"))
        elif not member.is_zipped:
            yield raw, raw
            return
        yield stack.enter_context(io.BufferedReader(_Bounded(plain, member))), raw


class _Bounded(io.RawIOBase):
    """Unpacked bytes, as long as they are in proportion to the packed ones."""

    def __init__(self, plain: Any, member: Member) -> None:
        self._plain = plain
        self._member = member
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer)
        content = self._plain.read(len(view))
        view[: len(content)] = content
        self._count += len(content)
        limit = min(max(MAX_RATIO * self._member.size, UNCHECKED_BYTES), MAX_UNPACKED_BYTES)
        if self._count > limit:
            raise InvalidFile(
                f"{self._member.name} unpacks to more than {MAX_RATIO} times its size, as no "
                "export does; unpack it, and import the file"
            )
        return len(content)
