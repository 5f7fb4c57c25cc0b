"""Files and records that import tests start from."""

from pathlib import Path
from typing import Any

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
