"""Saved queries, run by the service itself over spans of time instead of by a request.

They go the journey of all queries: parsed, pinned, bound, read. They see the rows of one website.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from query.custom.plan import parse_request as parse_custom
from query.custom.request import CustomRequest
from query.dependencies import QueryDependencies
from query.metrics.plan import plan_of
from query.metrics.request import MetricsRequest
from query.metrics.request import parse_request as parse_metrics
from query.request.body import convert
from query.request.hidden_values import hidden_values
from query.request.subject import QuerySubject, SubjectKind
from query.response.response_budget import ResponseBudget
from query.run.groups import GroupedPlan
from query.run.journey import run_and_encode, run_plans
from query.run.plan import QueryResult
from query.standard.plan import StandardPlan
from query.standard.request import StandardRequestBody
from query.standard.request import parse_request as parse_standard
from schemas.errors import ApiError
from schemas.registry import Alert, Exploration, Key, KeyScope, Website
from schemas.runtime.clock import format_instant, parse_instant_ms

EVERYTHING: Mapping[str, Any] = {"metrics": ["events"]}
"""What an alert without a query watches."""

DATES_OF_PARAMETER = ("start_date", "end_date", "preset", "compare")
"""Members of a parameter that is an object."""

Rows = list[dict[str, Any]]
Span = tuple[int, int]
"""Start and end in Unix milliseconds; the end is exclusive."""


class SavedQuery(Struct, frozen=True):
    """A query without dates, in one of the three languages."""

    language: str
    """`metrics_query`, `custom_query` or `standard_query`."""
    body: Mapping[str, Any]
    """As the endpoint of the language takes it."""


class SpanRows(Struct, frozen=True):
    """Rows for each span, and until when the versions that were read have everything."""

    rows: Sequence[Rows]
    groups: Sequence[str]
    """Columns by which rows are grouped; none for standard queries."""
    watermark_ms: int | None


def query_of(saved: Alert | Exploration) -> SavedQuery:
    """The query of a saved record."""
    for language in ("metrics_query", "custom_query", "standard_query"):
        if (body := getattr(saved, language, None)) is not None:
            return SavedQuery(language, body)
    return SavedQuery("metrics_query", EVERYTHING)


def metrics(**body: Any) -> SavedQuery:
    """A metrics query; members by their wire names."""
    return SavedQuery("metrics_query", body)


async def ask(
    dependencies: QueryDependencies, website: Website, query: SavedQuery, spans: Sequence[Span]
) -> SpanRows:
    """The rows of each span; ApiError when one cannot be answered."""
    subject = subject_of(dependencies, website)
    plans = [_plan(dependencies, website, subject, query, span) for span in spans]
    budget = ResponseBudget(
        dependencies.response_memory, subject.tenant, dependencies.timeout_seconds
    )
    try:
        step = partial(run_and_encode, _rows, budget)
        run = await run_plans(dependencies, budget, plans, step)
    finally:
        budget.close()
    rows: list[Rows] = []
    for outcome in run.outcomes:
        if isinstance(outcome, ApiError):
            raise outcome
        rows.append(outcome)
    freshness = dependencies.freshness.freshness_of(run.versions.values())
    groups = [group.name for group in plans[0].groups] if _is_grouped(plans[0]) else []
    watermark = freshness.watermark
    return SpanRows(rows, groups, parse_instant_ms(watermark) if watermark else None)


def subject_of(dependencies: QueryDependencies, website: Website) -> QuerySubject:
    """The website with what is saved for it, without rows whose erasure is pending."""
    registry, owner = dependencies.registry, website.organization_id
    return QuerySubject(
        SubjectKind.WEBSITE,
        (website.id,),
        owner,
        website.timezone,
        registry.saved.of_website(website.id),
        hidden=hidden_values(registry.tombstones.unfinished, owner, (website.id,)),
    )


def _plan(
    dependencies: QueryDependencies,
    website: Website,
    subject: QuerySubject,
    query: SavedQuery,
    span: Span,
) -> Any:
    """The plan of one span."""
    start, end = format_instant(span[0]), format_instant(span[1] - 1)
    dates = {"startDate": start, "endDate": end, "preset": None, "compare": None, "asOf": None}
    body, now, zone = {**query.body, **dates}, dependencies.clock(), website.timezone
    if "parameters" in body:
        body["parameters"] = [_without_dates(parameter) for parameter in body["parameters"]]
    if query.language == "metrics_query":
        return plan_of(parse_metrics(convert(body, MetricsRequest, ""), subject, zone, now))
    if query.language == "custom_query":
        key = _key_of(website)
        return parse_custom(convert(body, CustomRequest, ""), subject, key, zone, now)
    request = parse_standard(convert(body, StandardRequestBody, ""), subject, zone, now)
    return request.plans[0]


def _without_dates(parameter: str | Mapping[str, Any]) -> str | Mapping[str, Any]:
    """A parameter that has no range of its own."""
    if isinstance(parameter, str):
        return parameter
    return {name: value for name, value in parameter.items() if name not in DATES_OF_PARAMETER}


def _key_of(website: Website) -> Key:
    """Reads the rows of the website, and of no other."""
    return Key(
        id="",
        organization_id=website.organization_id,
        website_id=website.id,
        name="",
        secret_hash="",
        scopes=(KeyScope.READ_DATA,),
        created_at=0,
        updated_at=0,
    )


def _rows(plan: StandardPlan | GroupedPlan, result: QueryResult) -> Rows:
    rows = result.page.rows
    shown = plan.result_rows(rows) if isinstance(plan, GroupedPlan) else rows
    plain: Rows = msgspec.to_builtins(shown)
    return plain


def _is_grouped(plan: Any) -> bool:
    return isinstance(plan, GroupedPlan)
