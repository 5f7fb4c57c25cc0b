"""The log of a Delta table on a local disk, checked entry by entry: there, not empty, whole.

Deltalake opens a table one of whose entries is empty, and leaves out what that entry said. So every
open asks here first. What a commit of ours consists of stands in its `commitInfo`; an entry that
says nothing about that was written by an older version or another program, and is believed.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

LOG = "_delta_log"
CONTENT = "tidemark"
"""Under this name `commitInfo` says what else is in the entry."""

_LOOKS = 3


class BrokenEntry(Struct, frozen=True):
    """One entry that cannot be believed."""

    version: int
    problem: str
    """What is wrong with it, as the end of a sentence."""

    @property
    def name(self) -> str:
        """Its file."""
        return entry_name(self.version)


class _Add(Struct):
    path: str
    size: int
    stats: str | None = None


class _Remove(Struct):
    path: str


class _Transaction(Struct, rename="camel"):
    app_id: str
    version: int


class _Info(Struct):
    tidemark: str | None = None


class _Line(Struct, rename="camel"):
    add: _Add | None = None
    remove: _Remove | None = None
    txn: _Transaction | None = None
    commit_info: _Info | None = None


_decoder = msgspec.json.Decoder(_Line)


def content(
    adds: Iterable[tuple[str, int, str | None]], removes: Iterable[str], txns: Mapping[str, int]
) -> str:
    """What a commit consists of: numbers of its actions, and a checksum over them."""
    lines: list[list[list[object]]] = [
        [["add", *add] for add in sorted(adds)],
        [["remove", path] for path in sorted(removes)],
        [["txn", name, version] for name, version in sorted(txns.items())],
    ]
    digest = hashlib.sha256(msgspec.json.encode(lines)).hexdigest()
    adds_, removes_, txns_ = (len(actions) for actions in lines)
    return f"adds={adds_} removes={removes_} txns={txns_} sha256={digest}"


def problem_of(entry: bytes) -> str | None:
    """What is wrong with an entry's bytes."""
    if not entry.strip():
        return "is empty"
    try:
        lines = [_decoder.decode(line) for line in entry.splitlines()]
    except (msgspec.DecodeError, UnicodeDecodeError):
        return "is torn"
    told = [line.commit_info.tidemark for line in lines if line.commit_info]
    if any(said is not None and said != _content_of(lines) for said in told):
        return "does not hold the actions that it was committed with"
    return None


def _content_of(lines: Sequence[_Line]) -> str:
    return content(
        [(line.add.path, line.add.size, line.add.stats) for line in lines if line.add],
        [line.remove.path for line in lines if line.remove],
        {line.txn.app_id: line.txn.version for line in lines if line.txn},
    )


def is_whole(entry: bytes) -> bool:
    """Whether nothing is wrong with an entry's bytes."""
    return problem_of(entry) is None


def broken_entries(log: Path) -> Sequence[BrokenEntry]:
    """The entries since the last checkpoint that are missing, empty, torn or incomplete.

    Looked for again when there are some: entries may be cleaned up at this very moment.
    """
    found: Sequence[BrokenEntry] = ()
    for _ in range(_LOOKS):
        if not (found := _broken(log)):
            break
    return found


def entries(log: Path) -> dict[int, Path]:
    """The entries that are there, by version."""
    there = sorted(log.glob("[0-9]*[0-9].json"))
    return {int(path.stem): path for path in there if path.stem.isdecimal()}


def last_checkpoint(log: Path) -> int:
    """Version of the newest checkpoint; -1 when there is none."""
    names = (path.name.split(".")[0] for path in log.glob("[0-9]*.checkpoint*.parquet"))
    return max((int(name) for name in names if name.isdecimal()), default=-1)


def entry_name(version: int) -> str:
    """The file of a version's entry."""
    return f"{version:020}.json"


def _broken(log: Path) -> list[BrokenEntry]:
    there = entries(log)
    if not there:
        return []
    found = []
    for version in range(last_checkpoint(log) + 1, max(there) + 1):
        try:
            problem = problem_of((log / entry_name(version)).read_bytes())
        except FileNotFoundError:
            problem = "is missing"
        if problem:
            found.append(BrokenEntry(version, problem))
    return found
