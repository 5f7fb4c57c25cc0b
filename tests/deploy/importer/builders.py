"""Files and records that import tests start from."""

from pathlib import Path
from typing import Any

import msgspec

from deploy.importer.column_mapping import ColumnMapper
from deploy.importer.dry_run import dry_run_sender
from deploy.importer.file_check import check_file
from deploy.importer.formats.cell_values import InvalidLine
from deploy.importer.sender import CollectorReply
from deploy.importer.source_file import SourceFile
from schemas.registry import Website

NOW = 1_795_262_400_000


STAMPS: dict[str, Any] = {"created_at": NOW, "updated_at": NOW}


WEBSITE = Website(id="w1", organization_id="o1", domain="a.example", **STAMPS)


def a_file(folder: Path, text: str, name: str = "visits") -> SourceFile:
    path = folder / name
    path.write_bytes(text.encode())
    return SourceFile(path)


def lines(count: int) -> str:
    return "".join(f'{{"ts": {1000 + n}, "name": "e{n}"}}\n' for n in range(1, count + 1))


def imported(folder: Path, text: str) -> list[dict[str, Any]]:
    """The events of a file that passes the check; a line that is none as `{"invalid": reason}`."""
    file, mapper = a_file(folder, text), ColumnMapper({})
    check_file(file, mapper)
    found: list[dict[str, Any]] = []
    for line in file.lines():
        try:
            found.append(mapper.event(line.fields))
        except InvalidLine as error:
            found.append({"invalid": str(error)})
    items = [msgspec.json.encode(event) for event in found if "invalid" not in event]
    assert dry_run_sender(WEBSITE)(items) == CollectorReply(len(items))
    return found


def json_lines(*lines: Any) -> str:
    return "".join(f"{msgspec.json.encode(line).decode()}\n" for line in lines)
