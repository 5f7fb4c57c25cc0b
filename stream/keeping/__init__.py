"""CHORES: what the keeper does for every table on each of its rounds, in order.

A chore looks at the table and does what is due, or nothing. It may be killed at any point: what it
leaves then is files that no version names. Derived tables (sessions, rollups) will be chores too.
"""

from collections.abc import Callable, Mapping

from schemas.settings import Settings
from stream.commit import LakeTable
from stream.keeping.compaction import compact
from stream.keeping.log_copies import copy_log
from stream.keeping.tidying import Tidier
from stream.keeping.undoing import Undoer

Chore = Callable[[LakeTable, Settings], None]


def chores() -> Mapping[str, Chore]:
    """The chores, with what each of them remembers between rounds."""
    return {"undo": Undoer(), "copy log": copy_log, "compact": compact, "tidy": Tidier()}
