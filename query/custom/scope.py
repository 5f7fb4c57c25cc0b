"""The scope of a custom query or an export in the pinned version of its table."""

from collections.abc import Mapping, Sequence

from query.custom.row_access import RowAccess
from query.custom.tables import CustomTable
from query.engine.snapshots import PinnedVersion
from query.request.query import Query
from query.scope.scope import Scope
from query.scope.visitor_sets import visitor_target
from query.sql.fragment import Fragment, all_of
from schemas.errors import Malformed
from schemas.tables import EVENTS, IDENTITIES, Table


def custom_scope(
    query: Query,
    table: CustomTable,
    access: RowAccess,
    where: Fragment,
    versions: Mapping[str, PinnedVersion],
    names_person: bool = False,
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
        by_profile=query.by_profile,
        names_person=names_person,
    )


def tables_of_visitors(query: Query, table: CustomTable) -> Sequence[Table]:
    """The tables that say which devices are one visitor; Malformed for rows without visitors."""
    if not query.by_profile:
        return ()
    if visitor_target(table.table) is None:
        raise Malformed(f"'person' is 'profile', but table '{table.name}' has no profiles")
    return (IDENTITIES,)
