"""The scope of a custom query or an export in the pinned version of its table."""

from collections.abc import Mapping

from query.custom.row_access import RowAccess
from query.custom.tables import CustomTable
from query.engine.snapshots import PinnedVersion
from query.request.query import Query
from query.scope.scope import Scope
from query.sql.fragment import Fragment, all_of
from schemas.tables import EVENTS, IDENTITIES


def custom_scope(
    query: Query,
    table: CustomTable,
    access: RowAccess,
    where: Fragment,
    versions: Mapping[str, PinnedVersion],
) -> Scope:
    """The rows that the query may see; filters on computed rows hold later."""
    return Scope(
        pinned=versions[table.table.name],
        subject_column=access.column,
        subjects=access.values,
        time_range=query.time_range,
        where=all_of(Fragment(table.where), Fragment() if table.is_computed else where),
        later=where if table.is_computed else Fragment(),
        events=versions.get(EVENTS.name),
        include_bots=query.include_bots,
        identities=versions.get(IDENTITIES.name),
    )
