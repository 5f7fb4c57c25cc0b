"""Query: what one query asks, made once from the body of its request and handed down."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from query.engine.requested_versions import AsOf
from query.request.buckets import Granularity
from query.request.filters import Filter
from query.request.order import OrderTerm
from query.request.subject import QuerySubject
from query.request.time_range import TimeRange

MAX_ROWS = 10_000


class PageOptions(Struct, frozen=True):
    """The requested page of the result; without a limit that of the query type holds."""

    number: int = 1
    limit: int | None = None
    order: Sequence[OrderTerm] = ()
    """Order terms that come before the query type's own order."""

    def limit_offset(self, default_limit: int, max_limit: int = MAX_ROWS) -> tuple[int, int]:
        """Limit and offset."""
        limit = min(self.limit or default_limit, max_limit)
        return limit, (self.number - 1) * limit


class Query(Struct, frozen=True, kw_only=True):
    """One query: subject, time range, filters, bots, versions, page and options."""

    subject: QuerySubject
    time_range: TimeRange
    now_ms: int
    """When the request was parsed."""
    filters: Sequence[Filter] = ()
    """Those of the body, then those of the parameter, then those of a shared dashboard."""
    own_filters: Sequence[Filter] = ()
    """Those of the parameter."""
    own_members: frozenset[str] = frozenset()
    """Members of the parameter, which apply to this query alone."""
    include_bots: bool = False
    by_profile: bool = False
    """Whether the devices of one profile are one visitor."""
    prepared: bool = True
    """Whether prepared results may be used."""
    as_of: AsOf = None
    page: PageOptions = msgspec.field(default_factory=PageOptions)
    granularity: Granularity = Granularity.DAILY
    comparison_range: TimeRange | None = None
    """The time range that each row is compared with."""
    name: str = ""
    """Name of the query type."""
    label: str = ""
    """`data[].parameter` of the response."""
    options: Mapping[str, Any] = {}
    """Options of the query type as sent: decoded by the type, so that an error fails it alone."""
    path: str = "parameters"
    """JSON path of the parameter, for error messages."""
