"""Facts of the path of a row: its folder, and its group among the path groups of the website.

They are columns of `scoped` that are computed from the stored path. Conditions on stored rows name
the group as a column as well; the expression takes its place when the relation is written.
"""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from query.request.filters import FilterField
from query.sql.event_condition import path_condition
from query.sql.fragment import Fragment, merge_values
from schemas.errors import Malformed
from schemas.registry import PathGroup
from schemas.tables import ColumnType, Table
from schemas.tables.column import WEBSITE_COLUMN

PATH = "path"
FOLDER = "folder"
PATH_GROUP = "path_group"
MAX_PATTERNS = 1_000
"""Paths of all groups in one query: each is a condition that every row is compared with."""

_NAME = re.compile(rf"\b{PATH_GROUP}\b")
_END_OF_FOLDER = "STRPOS(SUBSTR(path, 2), '/')"


class PathColumn(Struct, frozen=True):
    """One column: what it means, and its expression over a stored row."""

    name: str
    description: str
    stored: str


PATH_COLUMNS = (
    PathColumn(
        FOLDER,
        "first part of the path: /blog of /blog and of /blog/2024/x, / of the home page",
        # /blog/2024/x → /blog; a path without a second slash is its own folder
        f"CASE WHEN {_END_OF_FOLDER} > 0 THEN SUBSTR(path, 1, {_END_OF_FOLDER}) ELSE path END",
    ),
    PathColumn(
        PATH_GROUP,
        "first saved path group of the website, the oldest first, that has the path; null without",
        PATH_GROUP,
    ),
)
PATH_COLUMN_NAMES = tuple(column.name for column in PATH_COLUMNS)


def path_columns(table: Table) -> Sequence[PathColumn]:
    """Those of a table: none without a path, or of other rows than those of a website."""
    has_path = table.column(PATH) is not None and table.subject_column == WEBSITE_COLUMN.name
    return PATH_COLUMNS if has_path else ()


def path_fields(table: Table) -> Mapping[str, FilterField]:
    """The names that filters on a table may use for them."""
    return {c.name: FilterField(ColumnType.STRING, c.stored) for c in path_columns(table)}


def path_group_of_row(groups: Sequence[PathGroup]) -> Fragment:
    """The name of the group of a stored row; Malformed for too many paths."""
    patterns = sum(len(group.paths) for group in groups)
    if patterns > MAX_PATTERNS:
        raise Malformed(
            f"'{PATH_GROUP}' needs the {patterns:,} paths of all path groups of the websites; at "
            f"most {MAX_PATTERNS:,} are compared in one query; use * for several paths, or ask for "
            "fewer websites"
        )
    cases, values = [], []
    oldest_first = sorted(groups, key=lambda group: (group.created_at, group.id))
    for i, group in enumerate(oldest_first):
        at = f"{PATH_GROUP}{i}"
        paths = [path_condition(path, f"{at}_path{j}") for j, path in enumerate(group.paths)]
        any_path = " OR ".join(path.text for path in paths)
        cases.append(
            f"WHEN website_id = ${at}_website AND ({any_path}) THEN CAST(${at}_name AS VARCHAR)"
        )
        values += [
            {f"{at}_website": group.website_id, f"{at}_name": group.name},
            *(path.values for path in paths),
        ]
    text = f"CASE {' '.join(cases)} END" if cases else "CAST(NULL AS VARCHAR)"
    return Fragment(text, merge_values(*values))


def with_path_group(condition: Fragment, groups: Sequence[PathGroup]) -> Fragment:
    """A condition over stored rows with the expression in place of the name of the column."""
    if not _NAME.search(condition.text):
        return condition
    group = path_group_of_row(groups)
    return Fragment(
        _NAME.sub(lambda _: f"({group.text})", condition.text),
        merge_values(condition.values, group.values),
        condition.visitor_sets,
    )
