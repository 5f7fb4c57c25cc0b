"""CHORES: what the keeper does for every table on each of its rounds, in order.

A chore looks at the table and does what is due, or nothing. It may be killed at any point: what it
leaves then is files that no version names. Derived tables (sessions, rollups) will be chores too.
"""

from collections.abc import Callable, Mapping

from schemas.runtime.settings import Settings
from stream.maintenance.compaction import compact
from stream.maintenance.import_deletion import ImportDeletion
from stream.maintenance.log_copies import copy_log
from stream.maintenance.vacuum import VacuumTask
from stream.storage.delta_commit import LakeTable

Task = Callable[[LakeTable, Settings], None]


def tasks() -> Mapping[str, Task]:
    """The chores, with what each of them remembers between rounds."""
    return {
        "undo": ImportDeletion(),
        "copy log": copy_log,
        "compact": compact,
        "tidy": VacuumTask(),
    }
