"""Files and folders that the documents name exist, so that a reader finds what a page refers to."""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from schemas.http.openapi import API_VERSION
from tests.repo.source_tree import PACKAGES, ROOT

INSTALLED_FOLDERS = {"node_modules", "dist", "__pycache__"}
TOP_FOLDERS = (*PACKAGES, "tests")

FILE = re.compile(r"(?<![\w./:-])((?:[\w.-]+/)*\w[\w.-]*\.(?:py|toml|md|sha256))\b")
FOLDER = re.compile(rf"`((?:{'|'.join(TOP_FOLDERS)})(?:/[\w-]+)*)/?`")
FOLDER_OF_README = re.compile(r"`((?:[\w-]+/)+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)#:]+)(?:#[\w-]*)?\)")


@cache
def repository_paths() -> frozenset[str]:
    """All files and folders of the repository, relative to its root."""
    found = [path for folder in TOP_FOLDERS for path in (ROOT / folder).rglob("*")]
    tracked = [path for path in found if not INSTALLED_FOLDERS & set(path.parts)]
    top = [path for path in ROOT.iterdir() if path.is_file()]
    return frozenset(path.relative_to(ROOT).as_posix() for path in (*tracked, *top)) | {
        *TOP_FOLDERS
    }


def documents() -> list[str]:
    """All pages but the decisions, a log whose entries stay as they were written."""
    pages = {path for path in repository_paths() if path.endswith(".md")}
    return sorted(path for path in pages if Path(path).name != "DECISIONS.md")


def current_text(document: str) -> str:
    """The text of a document; of the changelog only the newest release."""
    text = (ROOT / document).read_text()
    if document == "CHANGELOG.md":
        return text.partition("\n## ")[2].partition("\n## ")[0]
    return text


def test_every_place_names_the_version_of_the_newest_release() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    images = re.findall(
        r"tidemark:(\d+\.\d+\.\d+)", (ROOT / "deploy/compose/compose.yaml").read_text()
    )

    assert re.match(r"\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)", current_text("CHANGELOG.md"))
    assert current_text("CHANGELOG.md").split()[0] == version
    assert version == API_VERSION
    assert set(images) == {version}


def exists(path: str, document: str) -> bool:
    """Whether a path exists from the root, or below the folder of the document.

    Below its folder a document may leave out the first folders of a path.
    """
    folder = Path(document).parent.as_posix()
    inside = "" if folder == "." else f"{folder}/"
    return any(
        known == path or (known.startswith(inside) and known.endswith(f"/{path}"))
        for known in repository_paths()
    )


def named_paths(document: str) -> Iterator[str]:
    text = current_text(document)
    without_links = LINK.sub("", text)
    yield from FILE.findall(without_links)
    yield from FOLDER.findall(without_links)
    if document in {f"{package}/README.md" for package in PACKAGES}:
        yield from (path.rstrip("/") for path in FOLDER_OF_README.findall(without_links))


@pytest.mark.parametrize("document", documents())
def test_the_files_and_folders_that_a_document_names_exist(document: str) -> None:
    assert [path for path in named_paths(document) if not exists(path, document)] == []


@pytest.mark.parametrize("document", documents())
def test_the_links_of_a_document_lead_to_files(document: str) -> None:
    links = LINK.findall(current_text(document))

    assert [link for link in links if not (ROOT / document).parent.joinpath(link).exists()] == []


def test_every_test_of_the_catalog_of_faults_exists() -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", (ROOT / "tests/chaos/README.md").read_text())

    assert len(named) > 50
    missing = [name for path, name in named if f"def {name}(" not in (ROOT / path).read_text()]
    assert missing == []
