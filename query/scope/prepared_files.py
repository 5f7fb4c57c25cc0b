"""Prepared files: rows of a derived table in place of those of the data files they stand for."""

from msgspec import Struct, structs

from query.engine.engine import Engine
from query.engine.snapshots import PinnedVersion
from query.scope.row_scope import Scope
from schemas.lake.committed_offsets import NO_VERSION
from schemas.lake.delta_table import TableVersion
from schemas.tables import DerivedTable
from schemas.tables.derived_table import source_key


class PreparedScopes(Struct, frozen=True):
    """A scope in two: its rows as they were prepared, and those of data files without."""

    prepared: Scope | None
    unprepared: Scope | None
    """At least one of both is there."""
    files_prepared: int
    files_unprepared: int
    """Data files of the source that are read as they were prepared, and as they are."""


def prepared_scopes(engine: Engine, scope: Scope, derived: DerivedTable) -> PreparedScopes:
    """What to read of a derived table, and what of its source."""
    by_key = {} if scope.shown.text else scope.pinned.derived.get(derived.table.name, {})
    by_source = {f.path: by_key.get(source_key(f.path)) for f in scope.data_files}
    intact = {f.path for f in engine.intact([f for f in by_source.values() if f])}
    used = {path: f for path, f in by_source.items() if f and f.path in intact}
    files = tuple(f for f in used.values() if f.rows)
    unprepared = [f for f in scope.data_files if f.path not in used]
    of_files = PinnedVersion(TableVersion(derived.table, NO_VERSION, files), 0)
    version = scope.pinned.version.with_files(unprepared)
    of_others = structs.replace(scope.pinned, version=version)
    return PreparedScopes(
        structs.replace(scope, pinned=of_files) if used else None,
        structs.replace(scope, pinned=of_others) if unprepared or not used else None,
        len(used),
        len(unprepared),
    )
