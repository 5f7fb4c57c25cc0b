"""SourceFile: reads what is to be imported, a file or a container of files, line by line."""

import hashlib
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

import msgspec
from msgspec.structs import replace

from deploy.importer.containers import Member, members_of, opened
from deploy.importer.csv_rows import InvalidFile
from deploy.importer.formats.cell_values import InvalidLine
from deploy.importer.formats.matomo import actions_of, is_visit, unflattened
from deploy.importer.formats.umami import UmamiEventData, is_event_data, is_left_out
from deploy.importer.member_lines import SAMPLE_BYTES, FileLine, layout_of, lines_in, readable


class SourceFile:
    """A file, folder or zip file to import; `fraction_read` is the progress of reading it."""

    def __init__(
        self,
        path: Path,
        format_: str | None = None,
        rejects: Path | None = None,
        name: str = "",
    ) -> None:
        """`rejects` is where rejected lines are written, by default beside the file.

        `name` stands in messages, by default that of the path.
        """
        self.path = path
        self.name = name or path.name
        self.rejects = rejects or path.with_name(f"{path.name}.rejects.ndjson")
        if not path.is_file() and not path.is_dir():
            raise InvalidFile(f"{path} is no file that can be read again; save what it gives")
        found = members_of(path, self.name)
        members = [member for member in found if not member.is_skipped]
        is_umami = any(is_event_data(member.name) for member in members) and len(members) > 1
        self._event_data = [member for member in members if is_umami and is_event_data(member.name)]
        self.left_out = [
            member.name
            for member in found
            if member.is_skipped or (is_umami and is_left_out(member.name))
        ]
        """Files of a container that have no events, or are not read."""
        self.members = [
            member
            for member in members
            if member not in self._event_data and member.name not in self.left_out
        ]
        self.size = sum(member.size for member in self.members)
        self.fingerprint = _fingerprint(path)
        self._layouts = {member.name: layout_of(member, format_) for member in self.members}
        self.format = self._layouts[self.members[0].name].format
        self._read = 0

    @property
    def fraction_read(self) -> float:
        """From 0 to 1."""
        return min(self._read / self.size, 1.0) if self.size else 1.0

    def lines(self) -> Generator[FileLine, None, None]:
        """All lines in order, without empty ones; numbered through all files of a container."""
        with self._joined_data() as event_data:
            passed = number = 0
            self._read = 0
            for member in self.members:
                before = number
                with closing(self.lines_of(member, passed)) as lines:
                    for line in lines:
                        number = before + line.number
                        fields = event_data.joined(line.fields) if event_data else line.fields
                        yield replace(line, number=number, fields=fields)
                passed += member.size
                self._read = passed

    def samples(self, count: int) -> Iterator[tuple[str, list[FileLine]]]:
        """The first lines of each file, with its name."""
        for member in self.members:
            with closing(self.lines_of(member, 0)) as lines:
                yield member.name, list(islice(lines, count))

    def lines_of(self, member: Member, passed: int = 0) -> Generator[FileLine, None, None]:
        """All lines of one file; `passed` are the bytes of the files before it."""
        layout = self._layouts[member.name]
        with (
            readable(member),
            opened(member) as (plain, raw),
            closing(lines_in(plain, member, layout)) as lines,
        ):
            for line in _with_actions(lines):
                if not member.is_zipped:
                    self._read = passed + (member.size if raw.closed else raw.tell())
                yield line

    @contextmanager
    def _joined_data(self) -> Iterator[UmamiEventData | None]:
        """What Umami keeps beside its events, in files of the same container."""
        if not self._event_data:
            yield None
            return
        with UmamiEventData() as event_data:
            for member in self._event_data:
                with readable(member), opened(member) as (plain, _):
                    event_data.add(
                        line.fields for line in lines_in(plain, member, layout_of(member))
                    )
            yield event_data


def _fingerprint(path: Path) -> str:
    """Identifies the same file or folder again: a hash of sizes, first and last bytes."""
    if path.is_dir():
        digest = hashlib.sha256()
        members = (member for member in members_of(path) if not member.is_skipped)
        for name in dict.fromkeys(member.path for member in members):
            digest.update(f"{name.relative_to(path)}\0{_fingerprint(name)}\0".encode())
        return digest.hexdigest()
    size = path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb") as raw:
        for start in (0, max(0, size - SAMPLE_BYTES)):
            raw.seek(start)
            digest.update(raw.read(SAMPLE_BYTES))
    return digest.hexdigest()


def _with_actions(lines: Iterator[FileLine]) -> Iterator[FileLine]:
    """The actions of a visits log, numbered through the file; other lines as they are."""
    number = 0
    for line in lines:
        visit = unflattened(line.fields)
        if not is_visit(visit):
            number = number + 1 if number else 0
            yield replace(line, number=number or line.number)
            continue
        for action in actions_of(visit):
            number += 1
            if isinstance(action, InvalidLine):
                text = msgspec.json.encode(line.fields).decode()
                yield FileLine(number, text=text, reason=str(action))
            else:
                yield FileLine(number, action)
