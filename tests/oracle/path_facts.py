"""The folder and the group of a path, by their definitions in words."""

from functools import cache

from schemas.registry import PathGroup
from tests.oracle.stored_rows import Row

PATH_FACTS = frozenset({"folder", "path_group"})
GROUPS = (
    ("shop", "Start", ("/",)),
    ("shop", "Below a", ("/a/*",)),
    ("shop", "Letters", ("/a*", "/A", "*_b")),
    ("shop", "Signs", ("/100%", "*'*", "/ü ñ")),
    ("blog", "Blog", ("*",)),
    ("rival", "Start", ("*",)),
)
"""Website, name and paths, oldest first."""
PATH_GROUPS = tuple(
    PathGroup(
        id=f"pgrp_{len(GROUPS) - i}",
        organization_id="globex" if website == "rival" else "acme",
        website_id=website,
        name=name,
        paths=paths,
        created_at=i,
        updated_at=i,
    )
    for i, (website, name, paths) in enumerate(GROUPS)
)


def with_path_facts(row: Row) -> Row:
    """The row with both, if it is of a table with paths."""
    if "path" not in row or "website_id" not in row:
        return row
    facts = {"folder": folder(row["path"]), "path_group": group(row["website_id"], row["path"])}
    return {**row, **facts}


def folder(path: str | None) -> str | None:
    """The path up to its second slash."""
    return path and path[:1] + path[1:].split("/")[0]


def group(website: str, path: str | None) -> str | None:
    """The first group of the website that has the path."""
    if path is None:
        return None
    own = [(name, paths) for owner, name, paths in GROUPS if owner == website]
    return next((name for name, paths in own if any(_has(p, path) for p in paths)), None)


@cache
def _has(pattern: str, path: str) -> bool:
    """Whether the parts between the stars stand in the path, one after the other."""
    first, *others = pattern.split("*")
    if not others:
        return path == first
    middle, last = others[:-1], others[-1]
    at = len(first)
    if not path.startswith(first):
        return False
    for part in middle:
        found = path.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return path.endswith(last) and len(path) - len(last) >= at
