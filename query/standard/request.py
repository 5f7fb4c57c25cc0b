"""Body of a standard query request, parsed into one Query for each parameter."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field, structs

from query.engine.requested_versions import AsOf
from query.request.body import convert
from query.request.buckets import GRANULARITIES
from query.request.comparison_range import CompareOptions, comparison_range
from query.request.filters import Filter
from query.request.member_names import check_names, member_names
from query.request.order import OrderTerm
from query.request.query import PageOptions, Query
from query.request.segments import expand_segments
from query.request.subject import QuerySubject
from query.request.time_parameters import parse_time_range
from query.request.time_range import Granularity, check_time_zone
from query.standard.applicability import check_body_members
from query.standard.plan import StandardPlan
from query.standard.query_types import QUERY_TYPES
from query.standard.shared_queries import check_shared_body, check_shared_query
from schemas.errors import Malformed

MAX_DAYS = 3_660
MAX_PARAMETERS = 100
DEFAULT_LIMIT = 100

ShortText = Annotated[str, Meta(max_length=256)]
Limit = Annotated[int, Meta(ge=1, le=10_000)]
Page = Annotated[int, Meta(ge=1, le=1_000_000)]
Order = Annotated[list[OrderTerm], Meta(max_length=25)]


class ParameterOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """A parameter that is an object: its members override those of the body.

    Its filters apply in addition to those of the body.
    """

    name: ShortText
    start_date: str | None = None
    end_date: str | None = None
    preset: str | None = None
    granularity: str | None = None
    filters: list[Filter] = []
    limit: Limit | None = None
    page: Page | None = None
    order_by: Order | None = field(name="orderBy", default=None)
    compare: str | CompareOptions | UnsetType | None = UNSET
    id: ShortText | None = None


class StandardRequestBody(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Standard queries about one subject."""

    parameters: Annotated[
        list[ShortText | dict[str, Any]], Meta(min_length=1, max_length=MAX_PARAMETERS)
    ]
    start_date: str | None = None
    end_date: str | None = None
    preset: str | None = None
    granularity: str = "daily"
    limit: Limit | None = None
    page: Page = 1
    timezone: str | None = None
    filters: list[Filter] = []
    order_by: Order = []
    sort_by: ShortText | None = None
    sort_order: Literal["asc", "desc"] | UnsetType = UNSET
    compare: str | CompareOptions | None = None
    as_of: AsOf = None
    include_bots: bool = field(name="include_bots", default=False)
    person: Literal["device", "profile"] = "device"
    """Whether a visitor is one device, or all devices of one profile."""
    id: ShortText | None = None
    """Echoed as `queryId`."""


class StandardRequest(Struct, frozen=True):
    """The queries of one request, and the body they were made from."""

    body: StandardRequestBody
    queries: tuple[Query, ...]

    @property
    def plans(self) -> Sequence[StandardPlan]:
        """A plan for each query."""
        return [StandardPlan(query) for query in self.queries]


def parse_request(
    body: StandardRequestBody,
    subject: QuerySubject,
    time_zone: str | None,
    now_ms: int,
    prepared: bool = True,
) -> StandardRequest:
    """One query for each parameter of the body.

    The time zone is that of the query string, else of the body, else of the subject.
    """
    zone = check_time_zone("timezone", time_zone or body.timezone or subject.time_zone)
    shared = subject.shared_filters
    if shared is not None:
        check_shared_body(body.filters, body.include_bots)
    body = structs.replace(body, filters=expand_segments(body.filters, subject.saved))
    page = PageOptions(body.page, body.limit, _order(body))
    queries = tuple(
        _parse_query(parameter, body, subject, page, zone, now_ms, f"parameters[{i}]")
        for i, parameter in enumerate(body.parameters)
    )
    if shared is not None:
        for query in queries:
            check_shared_query(query)
    if not prepared:
        queries = tuple(structs.replace(query, prepared=False) for query in queries)
    check_body_members(queries, _granularity(body.granularity, "granularity"), body.limit)
    return StandardRequest(body, queries)


def _order(body: StandardRequestBody) -> Sequence[OrderTerm]:
    if body.sort_by is None:
        if body.sort_order is not UNSET:
            raise Malformed("'sortOrder' needs 'sortBy', the field to sort by")
        return body.order_by
    if body.order_by:
        raise Malformed("'sortBy' and 'orderBy' are both given; give one of them")
    direction = "desc" if body.sort_order is UNSET else body.sort_order
    return [OrderTerm(body.sort_by, direction)]


def _parse_query(
    parameter: str | dict[str, Any],
    body: StandardRequestBody,
    subject: QuerySubject,
    page: PageOptions,
    zone: str,
    now_ms: int,
    path: str,
) -> Query:
    members = {"name": parameter} if isinstance(parameter, str) else parameter
    fields, options = _split_members(members, path)
    own = convert(fields, ParameterOptions, path, StandardRequestBody)
    own_filters = expand_segments(own.filters, subject.saved, f"{path}.filters")
    start, end, preset = own.start_date, own.end_date, own.preset
    if preset is None:
        start, end, preset = start or body.start_date, end or body.end_date, body.preset
    requested = parse_time_range(start, end, preset, zone, now_ms, MAX_DAYS)
    compared, compare = None, body.compare if own.compare is UNSET else own.compare
    if compare is not None:
        named = preset if start is None and end is None else None
        compared = comparison_range(compare, requested, now_ms, MAX_DAYS, named)
    return Query(
        subject=subject,
        time_range=requested,
        now_ms=now_ms,
        filters=[*body.filters, *own_filters, *(subject.shared_filters or ())],
        own_filters=own_filters,
        own_members=frozenset(fields),
        include_bots=body.include_bots,
        by_profile=body.person == "profile",
        as_of=body.as_of,
        page=_own_page(page, own),
        granularity=_granularity(own.granularity or body.granularity, "granularity"),
        comparison_range=compared,
        name=own.name,
        label=own.id or own.name,
        options=options,
        path=path,
    )


def _split_members(
    members: Mapping[str, Any], path: str
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The members that every parameter may have, and the options of its query type.

    Malformed for a member that is neither. A type that does not exist fails alone.
    """
    common = member_names(ParameterOptions)
    query_type = QUERY_TYPES.get(str(members.get("name")))
    shape = query_type and query_type.options
    known = (*common, *(member_names(shape) if shape else ()))
    if query_type is None:
        known = (*known, *(name for name in members if name not in known))
    names = check_names(members, known, path, StandardRequestBody)
    named = {names[name]: value for name, value in members.items()}
    return (
        {name: value for name, value in named.items() if name in common},
        {name: value for name, value in named.items() if name not in common},
    )


def _own_page(page: PageOptions, own: ParameterOptions) -> PageOptions:
    return PageOptions(
        own.page or page.number,
        own.limit or page.limit,
        page.order if own.order_by is None else own.order_by,
    )


def _granularity(name: str, path: str) -> Granularity:
    if name not in GRANULARITIES:
        known = ", ".join(Granularity)
        close = get_close_matches(name[:40], GRANULARITIES, n=1)
        meant = f"; did you mean '{close[0]}'?" if close else ""
        raise Malformed(f"'{path}' is '{name[:40]}'; it must be one of {known}{meant}")
    return GRANULARITIES[name]
