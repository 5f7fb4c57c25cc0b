"""visitors: those behind a number of another query type, one by one."""

from msgspec import structs

from query.request.subject import SubjectKind
from query.standard.declaration.listing import PageKeyQuery
from query.standard.declaration.query_type import QueryOptions, QueryType
from query.standard.declaration.statement import Statement
from query.standard.sql.visitor_summaries import VISITOR_LIST
from query.standard.types.visitor_profiles import SEEN, Profile
from query.standard.types.visitor_selections import (
    GoalVisitors,
    VisitorSelection,
)
from schemas.registry import SavedRecords
from schemas.tables import EVENTS


class Visitors(QueryOptions, frozen=True):
    """Options of the request."""

    of: VisitorSelection

    @classmethod
    def example(cls) -> "Visitors":
        """Visitors who reached a goal."""
        return cls(GoalVisitors.example())

    def resolve(self, saved: SavedRecords, path: str) -> "Visitors":
        """The options with saved goals and segments in place of their names."""
        return Visitors(self.of.resolve(saved, f"{path}.of"))


class Visitor(Profile, frozen=True):
    """One visitor, as in `profile_list`."""


def visitors_statement(options: Visitors) -> Statement:
    """The visitors of the selection, with their activity in what the number is computed from."""
    selection = options.of.selection()
    return Statement(
        ctes=(*selection.ctes, *selection.summaries()),
        sql=VISITOR_LIST,
        values=selection.values,
        granularity=selection.granularity,
        inlined=selection.inlined,
    )


def visitors_page_keys(options: Visitors) -> PageKeyQuery | None:
    """The keys of `profile_list`, of the selected visitors alone.

    None where it takes rows of others to select a visitor, such as for the groups of a breakdown.
    """
    selection = options.of.selection()
    if not selection.visitors_source:
        return None
    return structs.replace(
        SEEN,
        source=selection.visitors_source,
        ctes=selection.ctes,
        values=selection.values,
        inlined=selection.inlined,
        prepared=None,
    )


VISITORS = (
    QueryType(
        name="visitors",
        description="the visitors behind a number: of a funnel step, a goal, a cell of retention "
        "or a path",
        subject=SubjectKind.WEBSITE,
        table=EVENTS,
        row=Visitor,
        options=Visitors,
        page_keys=visitors_page_keys,
        sql=visitors_statement,
    ),
)
