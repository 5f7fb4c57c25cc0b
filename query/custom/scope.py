"""Which stored rows an API key may see: the scope of a custom query or an export."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from query.custom.tables import CustomTable
from query.engine.snapshots import PinnedVersion
from query.request.query import Query
from query.request.subject import QuerySubject, SubjectKind
from query.scope.scope import Scope
from query.scope.visitor_sets import visitor_target
from query.sql.fragment import Fragment, all_of
from schemas.errors import Forbidden, Malformed
from schemas.http.auth import out_of_reach
from schemas.registry import Key, PathGroup
from schemas.tables import CLICKS, EVENTS, IDENTITIES, LEDGER, QUARANTINE, Table

TABLES_OF_LINKS = (CLICKS, QUARANTINE, LEDGER)
"""The tables that have rows of links."""


class RowAccess(Struct, frozen=True):
    """The column and its values that select the rows of a caller."""

    column: str
    values: tuple[str, ...]


def row_access(table: CustomTable, subject: QuerySubject, key: Key) -> RowAccess:
    """Rows of the website or link; for clicks of a website, of all links of its organization."""
    stored = table.table
    if subject.kind is SubjectKind.LINK and stored not in TABLES_OF_LINKS:
        raise Malformed(f"Table '{table.name}' requires 'website_id', not 'link_id'")
    if subject.kind is SubjectKind.WEBSITE and stored is CLICKS:
        if key.website_id is not None:
            raise Forbidden(out_of_reach(key, "links of the organization"))
        return RowAccess("organization_id", (key.organization_id,))
    return RowAccess(stored.subject_column, subject.ids)


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
        hidden=query.subject.hidden,
        path_groups=query.subject.saved.of(PathGroup),
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
