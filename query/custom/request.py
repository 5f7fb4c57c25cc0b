"""Body of a custom query."""

import re
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from query.engine.requested_versions import AsOf
from query.request.comparison_range import CompareOptions
from query.request.filters import Filter
from query.request.order import FieldName, OrderTerm

MAX_DAYS = 400
DEFAULT_LIMIT = 1_000

ALIAS = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")


class SelectTerm(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One value to compute; its default alias is `<aggregate>_<field>`."""

    field: FieldName
    aggregate: FieldName
    alias: FieldName | None = None


class CustomQueryBody(
    Struct, frozen=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True
):
    """Table, values, filters, groups and order of a custom query."""

    table: FieldName
    selects: Annotated[list[SelectTerm], Meta(min_length=1, max_length=20)]
    filters: list[Filter] = []
    group_by: Annotated[list[FieldName], Meta(max_length=5)] = []
    having: list[Filter] = []
    """Conditions on the aliases of selects."""
    order_by: Annotated[list[OrderTerm], Meta(max_length=25)] = []


class CustomRequest(
    Struct, frozen=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True
):
    """The body of a request."""

    query: CustomQueryBody
    start_date: str | None = None
    end_date: str | None = None
    preset: str | None = None
    timezone: str | None = None
    limit: Annotated[int, Meta(ge=1, le=10_000)] = DEFAULT_LIMIT
    page: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    compare: str | CompareOptions | None = None
    as_of: AsOf = None
    include_bots: bool = field(name="include_bots", default=False)
    person: Literal["device", "profile"] = "device"
    """Whether a visitor is one device, or all devices of one profile."""
