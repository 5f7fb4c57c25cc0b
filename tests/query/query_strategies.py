"""Questions made by hypothesis: sound ones with hostile values, sound ones spoiled, anything."""

import json
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from query.custom.tables import CUSTOM_TABLES
from query.metrics.conditions import filter_fields
from query.metrics.fields import FIELDS
from query.metrics.metrics import BY_NAME as METRICS
from query.request.buckets import GRANULARITIES
from query.request.filters import FilterField
from query.request.operators import OPERATORS, Arity
from query.request.time_range import TimeRange
from query.sql.aggregates import AGGREGATES
from query.standard.applicability import uses_granularity
from query.standard.declaration.fields import field_specs
from query.standard.query_types import QUERY_TYPES
from query.standard.scope import filterable_fields
from schemas.runtime.time_zone_names import time_zones
from schemas.tables import EVENTS, ColumnType

HOSTILE = ["'", '"', "; DROP TABLE events; --", "$subject", "{column}", "%", "\\", "\x00", "*", "é"]

RAW = {
    f"#{text[:9]}{len(text)}#": text
    for text in ("9" * 309, "-" + "9" * 4_000, "9" * 5_000, "1e308", "1e400", "-1e-999", "NaN", "-")
}
"""Numbers that a client can write and Python cannot, by what stands for them until then."""


A_DAY = TimeRange(0, 86_400_000, "UTC")


def as_json(body: object) -> bytes:
    """The body as a client writes it."""
    text = json.dumps(body)
    for sign, number in RAW.items():
        text = text.replace(f'"{sign}"', number)
    return text.encode()


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(HOSTILE)
    | st.sampled_from(sorted(RAW))
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)

# Valid queries with hostile values.

TEXTS = st.text(max_size=20) | st.sampled_from(HOSTILE)
NUMBERS = st.integers(-(10**14), 10**14) | st.floats(-1e14, 1e14)
VALUES = {
    ColumnType.STRING: TEXTS,
    ColumnType.LONG: NUMBERS | st.integers(-(2**63), 2**63 - 1),
    ColumnType.INTEGER: NUMBERS,
    ColumnType.DECIMAL: NUMBERS,
    ColumnType.BOOLEAN: st.booleans(),
    ColumnType.TIMESTAMP: st.integers(-(10**13), 10**14) | st.datetimes().map(datetime.isoformat),
}
HAVING = {"field": "A0", "operator": "gte", "value": 0}
DAYS = st.just(date(2026, 11, 1)) | st.dates(date(1970, 1, 3), date(8990, 1, 1))
ZONES = st.sampled_from(sorted(time_zones()))


@st.composite
def valid_filters(draw: st.DrawFn, fields: Mapping[str, FilterField]) -> list[dict[str, Any]]:
    values = []
    for name in draw(st.lists(st.sampled_from(sorted(fields)), max_size=4)):
        kind = fields[name].type
        fitting = [o for o in OPERATORS if kind is ColumnType.STRING or not o.text_only]
        operator = draw(st.sampled_from(fitting))
        value: Any = None
        if operator.arity is not Arity.NONE:
            one = VALUES[kind]
            many = operator.arity is Arity.MANY
            value = draw(st.lists(one, min_size=1, max_size=3) if many else one)
        values.append({"field": name, "operator": operator.name, "value": value})
    return [draw(grouped(each)) for each in values]


@st.composite
def grouped(draw: st.DrawFn, condition: dict[str, Any]) -> dict[str, Any]:
    """The condition as it is, or in a group or two."""
    for word in draw(st.lists(st.sampled_from(["and", "or", "not"]), max_size=2)):
        condition = {word: condition if word == "not" else [condition, condition]}
    return condition


@st.composite
def property_filters(draw: st.DrawFn) -> list[dict[str, Any]]:
    """On paths of any keys that have no dot in them."""
    keys = st.text(min_size=1, max_size=6).filter(lambda key: "." not in key and "\x00" not in key)
    hostile = st.sampled_from([each for each in HOSTILE if each != "\x00"])
    path = ".".join(["properties", *draw(st.lists(keys | hostile, min_size=1, max_size=3))])
    value = draw(TEXTS | NUMBERS | st.booleans())
    return draw(st.just([]) | st.just([{"field": path, "operator": "ne", "value": value}]))


@st.composite
def valid_time_ranges(draw: st.DrawFn, most_days: int) -> dict[str, str]:
    start = draw(DAYS)
    end = start + timedelta(days=draw(st.integers(0, most_days - 1)))
    return {"startDate": str(start), "endDate": str(end), "timezone": draw(ZONES)}


@st.composite
def valid_queries(draw: st.DrawFn) -> dict[str, Any]:
    table = draw(st.sampled_from(sorted(CUSTOM_TABLES.values(), key=lambda t: t.name)))
    columns = st.sampled_from(table.columns)
    groups = draw(st.lists(columns.map(lambda c: c.name), max_size=4, unique=True))
    selects = []
    for n in range(draw(st.integers(1, 6))):
        column = draw(columns)
        fitting = [a.name for a in AGGREGATES if column.type in a.types]
        aggregate = draw(st.sampled_from(fitting))
        selects.append({"field": column.name, "aggregate": aggregate, "alias": f"A{n}"})
    bucket = draw(st.sampled_from([None, "time:hourly", "time:daily", "time:week", "time:month"]))
    outputs = st.sampled_from([*groups, *(select["alias"] for select in selects)])
    filters = draw(valid_filters(table.fields))
    if table.column("properties"):
        filters += draw(property_filters())
    return {
        "table": table.name,
        "selects": selects,
        "groupBy": groups + ([bucket] if bucket else []),
        "orderBy": [{"field": name} for name in draw(st.lists(outputs, max_size=2))],
        "having": draw(st.just([]) | grouped(HAVING).map(lambda each: [each])),
        "filters": filters,
    }


@st.composite
def valid_custom_requests(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "query": draw(valid_queries()),
        **draw(valid_time_ranges(400)),
        "limit": draw(st.integers(1, 10_000)),
        "page": draw(st.integers(1, 3)),
        "asOf": draw(st.sampled_from([None, {"events": -1}, {"events": 1}])),
        "include_bots": draw(st.booleans()),
    }


@st.composite
def valid_standard_requests(draw: st.DrawFn) -> dict[str, Any]:
    kinds = [
        name
        for name, kind in QUERY_TYPES.items()
        if kind.table is EVENTS and not kind.required_filters and kind.options is None
    ]
    name = draw(st.sampled_from(kinds))
    span = draw(valid_time_ranges(100))
    compared = st.sampled_from(["previous_period", "same_weekdays", "previous_year"]).map(
        lambda to: {"to": to}
    )
    comparable = span["startDate"] > "1972" and QUERY_TYPES[name].is_comparable
    widths = [g for g in GRANULARITIES if g != "minute"]
    return {
        "parameters": [name],
        **span,
        "granularity": draw(
            st.sampled_from(widths if uses_granularity(QUERY_TYPES[name]) else ["daily"])
        ),
        "filters": draw(valid_filters(filterable_fields(EVENTS))) + draw(property_filters()),
        "page": draw(st.integers(1, 3) | st.integers(1, 1_000_000)),
        "limit": draw(st.integers(1, QUERY_TYPES[name].max_limit)),
        "orderBy": [
            {"field": field, "direction": draw(st.sampled_from(["asc", "desc"]))}
            for field in draw(st.lists(st.sampled_from(sorted(sortable(name))), max_size=2))
        ],
        "compare": draw(st.none() | compared) if comparable else None,
        "asOf": draw(st.sampled_from([None, {"events": -1}, {"events": 1}])),
    }


@st.composite
def valid_metrics_requests(draw: st.DrawFn) -> dict[str, Any]:
    names = st.lists(st.sampled_from(sorted(METRICS)), min_size=1, max_size=4, unique=True)
    metrics = draw(names)
    tables = {table.name for name in metrics for table in METRICS[name].tables}
    own = [name for name, field in FIELDS.items() if tables <= field.tables]
    properties = ["properties.plan"] if tables == {"events"} else []
    fields = st.sampled_from([*own, *properties, "time:month", "time:hour_of_day"])
    conditions = {n: each for n, each in filter_fields(EVENTS, A_DAY).items() if n in own}
    dimensions = draw(st.lists(fields, max_size=3, unique=True))
    outputs = st.sampled_from([*metrics, *dimensions])
    condition = {"field": metrics[0], "operator": "gte", "value": draw(st.integers(0, 3))}
    return {
        "metrics": metrics,
        "dimensions": dimensions,
        **draw(valid_time_ranges(100)),
        "filters": (draw(valid_filters(conditions)) if conditions else [])
        + (draw(property_filters()) if properties else []),
        "having": draw(st.sampled_from([[], [condition]])),
        "orderBy": [{"field": name} for name in draw(st.lists(outputs, max_size=2))],
        "limit": draw(st.integers(1, 10_000)),
        "page": draw(st.integers(1, 1_000_000)),
        "asOf": draw(st.sampled_from([None, {"events": -1}, {"events": 1}])),
        "definitions": draw(st.booleans()),
    }


def sortable(name: str) -> list[str]:
    """The fields of a type's rows."""
    return list(field_specs(QUERY_TYPES[name].row))


@st.composite
def spoiled(draw: st.DrawFn, sound: st.SearchStrategy[dict[str, Any]]) -> Any:
    """A sound body in which one member, at any depth, is anything."""
    body = draw(sound)
    place: Any = body
    while True:
        keys = list(place) if isinstance(place, dict) else range(len(place))
        key = draw(st.sampled_from(list(keys)))
        inner = place[key]
        if isinstance(inner, dict | list) and inner and draw(st.booleans()):
            place = inner
            continue
        place[key] = draw(anything)
        return body


def names_in(count: int) -> dict[str, Any]:
    return {"field": "path", "operator": "in", "value": [f"/{n}" for n in range(count)]}
