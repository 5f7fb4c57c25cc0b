"""Questions made by hypothesis: sound ones with hostile values, sound ones spoiled, anything."""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import available_timezones

from hypothesis import strategies as st

from query.custom.aggregates import AGGREGATES
from query.custom.operators import OPERATORS, Takes
from query.custom.tables import CUSTOM_TABLES
from query.filters import Field
from query.standard import QUERY_TYPES
from query.standard.scoping import fields
from schemas.tables import EVENTS, Type

HOSTILE = ["'", '"', "; DROP TABLE events; --", "$subject", "{column}", "%", "\\", "\x00", "*", "é"]

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
    | st.sampled_from(HOSTILE)
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)

# Sound questions, with values as hostile as they may be.

TEXTS = st.text(max_size=20) | st.sampled_from(HOSTILE)
NUMBERS = st.integers(-(10**14), 10**14) | st.floats(-1e14, 1e14)
VALUES = {
    Type.STRING: TEXTS,
    Type.LONG: NUMBERS | st.integers(-(2**63), 2**63 - 1),
    Type.INTEGER: NUMBERS,
    Type.DECIMAL: NUMBERS,
    Type.BOOLEAN: st.booleans(),
    Type.TIMESTAMP: st.integers(-(10**13), 10**14) | st.datetimes().map(datetime.isoformat),
}
DAYS = st.just(date(2026, 11, 1)) | st.dates(date(1970, 1, 3), date(8990, 1, 1))
ZONES = st.sampled_from(sorted(available_timezones()))


@st.composite
def sound_filters(draw: st.DrawFn, fields: Mapping[str, Field]) -> list[dict[str, Any]]:
    made = []
    for name in draw(st.lists(st.sampled_from(sorted(fields)), max_size=4)):
        kind = fields[name].type
        fitting = [o for o in OPERATORS if kind is Type.STRING or not o.text_only]
        operator = draw(st.sampled_from(fitting))
        value: Any = None
        if operator.takes is not Takes.NONE:
            one = VALUES[kind]
            many = operator.takes is Takes.MANY
            value = draw(st.lists(one, min_size=1, max_size=3) if many else one)
        made.append({"field": name, "operator": operator.name, "value": value})
    return made


@st.composite
def sound_spans(draw: st.DrawFn, most_days: int) -> dict[str, str]:
    start = draw(DAYS)
    end = start + timedelta(days=draw(st.integers(0, most_days - 1)))
    return {"startDate": str(start), "endDate": str(end), "timezone": draw(ZONES)}


@st.composite
def sound_queries(draw: st.DrawFn) -> dict[str, Any]:
    table = draw(st.sampled_from(sorted(CUSTOM_TABLES.values(), key=lambda t: t.name)))
    columns = st.sampled_from(table.columns)
    groups = draw(st.lists(columns.map(lambda c: c.name), max_size=5, unique=True))
    selects = []
    for n in range(draw(st.integers(1, 6))):
        column = draw(columns)
        fitting = [a.name for a in AGGREGATES if column.type in a.fits]
        aggregate = draw(st.sampled_from(fitting))
        selects.append({"field": column.name, "aggregate": aggregate, "alias": f"A{n}"})
    order = [{"field": name} for name in groups[:1]]
    return {
        "table": table.name,
        "selects": selects,
        "groupBy": groups,
        "orderBy": order,
        "filters": draw(sound_filters(table.fields)),
    }


@st.composite
def sound_custom(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "query": draw(sound_queries()),
        **draw(sound_spans(400)),
        "limit": draw(st.integers(1, 10_000)),
        "include_bots": draw(st.booleans()),
    }


@st.composite
def sound_standard(draw: st.DrawFn) -> dict[str, Any]:
    kinds = [name for name, kind in QUERY_TYPES.items() if kind.table is EVENTS]
    return {
        "parameters": draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3)),
        **draw(sound_spans(100)),
        "granularity": draw(st.sampled_from(["hourly", "daily", "hour", "day"])),
        "filters": draw(sound_filters(fields(EVENTS))),
        "page": draw(st.integers(1, 1_000_000)),
        "limit": draw(st.integers(1, 10_000)),
    }


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
