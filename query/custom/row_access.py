"""Which stored rows an API key may see, for custom queries and exports."""

from msgspec import Struct

from query.custom.tables import CustomTable
from query.request.subject import QuerySubject, SubjectKind
from schemas.errors import Forbidden, Malformed
from schemas.http.auth import OUT_OF_REACH
from schemas.registry import Key
from schemas.tables import CLICKS


class RowAccess(Struct, frozen=True):
    """The column and its values that select the rows of a caller."""

    column: str
    values: tuple[str, ...]


def row_access(table: CustomTable, subject: QuerySubject, key: Key) -> RowAccess:
    """Rows of the website or link; for clicks of a website, of all links of its organization."""
    stored = table.table
    if subject.kind is SubjectKind.LINK and stored is not CLICKS:
        raise Malformed(f"Table '{table.name}' requires 'website_id', not 'link_id'")
    if subject.kind is SubjectKind.WEBSITE and stored is CLICKS:
        if key.website_id is not None:
            raise Forbidden(OUT_OF_REACH.format(what="links of the organization"))
        return RowAccess("organization_id", (key.organization_id,))
    return RowAccess(stored.subject_column, subject.ids)
