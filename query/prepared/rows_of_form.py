"""The rows of a query from prepared results, where the query permits them."""

from collections.abc import Sequence

from msgspec import structs

from query.engine.engine import ColumnEngine, Engine, Row
from query.prepared.forms import RollupPlan
from query.prepared.not_prepared import HIDDEN_ROWS, OTHER_ENGINE, SWITCHED_OFF, NotPrepared
from query.prepared.prepared_results import PreparedResults
from query.prepared.rollup_reader import Work
from query.request.buckets import Granularity
from query.request.query import Query
from query.scope.row_scope import Scope
from query.sql.fragment import Fragment


async def rows_of_form(
    results: PreparedResults | None,
    form: RollupPlan,
    query: Query,
    scope: Scope,
    engine: Engine,
    seconds: float,
    granularity: Granularity = Granularity.DAILY,
    work: Work = Work.QUERIES,
) -> Sequence[Row]:
    """All rows of a form, which has the filters; NotPrepared says why there are none."""
    if results is None:
        raise NotPrepared(SWITCHED_OFF)
    if reason := reads_stored_rows(query):
        raise NotPrepared(reason)
    if scope.shown.text:
        raise NotPrepared(HIDDEN_ROWS)
    if not isinstance(engine, ColumnEngine) or not engine.gives_columns:
        raise NotPrepared(OTHER_ENGINE)
    if query.subject.shared_filters is not None:
        work = Work.SHARES
    nothing = Fragment()
    unfiltered = structs.replace(scope, where=nothing, visit_where=nothing, session_where=nothing)
    tenant = query.subject.tenant
    return await results.rows(
        form, unfiltered, granularity, engine, seconds, work=work, tenant=tenant
    )


def reads_stored_rows(query: Query) -> str:
    """Why a query cannot be answered from rollups."""
    reasons = {
        "the request has prepared=false": not query.prepared,
        "rollups have no events of bots": query.include_bots,
        "rollups count devices, not profiles": query.by_profile,
        "a rollup has one website": len(query.subject.ids) != 1,
    }
    return next((reason for reason, applies in reasons.items() if applies), "")
