"""Names of members in a question: other spellings are taken, an unknown name is refused.

A spelling that differs in case, `_` or `-` only (`timeZone`, `group_by`) means the same member. For
any other unknown name, the error says which member was meant or where it belongs.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.inspect import AnyType, DictType, ListType, StructType, Type, UnionType

from query.request.suggestions import shorten, unknown_name_message
from schemas.errors import Malformed

IN_URL = "it belongs in the query string of the URL, as in /v1/query?website_id=…"
CUSTOM = "of a custom query (POST /v1/query/custom)"
METRICS = "POST /v1/query/metrics"

URL_PARAMETERS = {"websiteid": IN_URL, "linkid": IN_URL, "format": IN_URL, "formulas": IN_URL}
"""What the query string holds, by folded name."""

NEIGHBORS: Mapping[str, tuple[str, str]] = {
    "aggregation": ("aggregate", "use 'aggregate'"),
    "breakdown": ("dimensions", "use 'dimensions'"),
    "bucket": ("granularity", "use 'granularity'"),
    "column": ("field", "use 'field'"),
    "comparison": ("compare", "use 'compare'"),
    "daterange": ("preset", "use 'preset', or 'startDate' and 'endDate'"),
    "events": ("parameters", "name query types in 'parameters'"),
    "from": ("startDate", "use 'startDate'"),
    "function": ("aggregate", "use 'aggregate'"),
    "granularity": ("dimensions", "use a dimension such as 'time:day'"),
    "groupby": ("dimensions", "use 'dimensions'"),
    "interval": ("granularity", "use 'granularity'"),
    "key": ("field", "use 'field'"),
    "metrics": ("parameters", f"name query types in 'parameters', or use {METRICS}"),
    "offset": ("page", "use 'page' and 'limit'"),
    "order": ("orderBy", "use 'orderBy': [{'field': …, 'direction': 'desc'}]"),
    "pagesize": ("limit", "use 'limit'"),
    "perpage": ("limit", "use 'limit'"),
    "period": ("preset", "use 'preset', or 'startDate' and 'endDate'"),
    "queries": ("parameters", "name query types in 'parameters'"),
    "selects": ("metrics", "use 'metrics'"),
    "sort": ("orderBy", "use 'orderBy': [{'field': …, 'direction': 'desc'}]"),
    "timeunit": ("granularity", "use 'granularity'"),
    "to": ("endDate", "use 'endDate'"),
    "type": ("parameters", "name query types in 'parameters'"),
    "types": ("parameters", "name query types in 'parameters'"),
    "until": ("endDate", "use 'endDate'"),
    "values": ("value", "use 'value', with a list for operators that take one"),
    "where": ("filters", "use 'filters'"),
}
"""Words of other analytics APIs: the member that has this meaning here, and what to do."""

MEMBER_LIKENESS = 0.7
"""Of a member that is suggested for an unknown one: `start_event` is not `startDate`."""

ELSEWHERE: Mapping[str, str] = {
    **URL_PARAMETERS,
    "breakdown": f"only funnel, goals, paths and retention have a breakdown; use {METRICS} for "
    "metrics by dimensions",
    "compare": "this route has no comparison; send one query for each time range",
    "siteid": "name the website in the query string of the URL, as in /v1/query?website_id=…",
    "dimensions": f"query types have fixed groups; use {METRICS} for metrics by dimensions",
    "groupby": f"query types have fixed groups; use 'groupBy' {CUSTOM}",
    "granularity": "group by a bucket of time instead: 'groupBy': ['time:daily']",
    "parameters": "query types are run by POST /v1/query",
    "query": "a custom query is run by POST /v1/query/custom",
    "having": f"it belongs in 'query' {CUSTOM}",
    "selects": f"it belongs in 'query' {CUSTOM}",
}
"""What to do about names that have no member with their meaning in a request."""


class _Object(Struct, frozen=True):
    """An object around the one that is read: where it is, and the names of its members."""

    where: str
    names: Sequence[str]


def fold(name: str) -> str:
    """A name without case, `_` and `-`."""
    return name.lower().replace("_", "").replace("-", "")


def rename_members(
    value: object, shape: Any, path: str = "", outer: type[Struct] | None = None
) -> object:
    """A decoded body with members named as in `shape`; Malformed for an unknown one.

    `path` is where the value is in the body, and `outer` the shape of what is around it.
    """
    around = () if outer is None else (_Object("the body", member_names(outer)),)
    return _rename(value, _type_info(shape), path, around)


def check_names(
    names: Iterable[str], known: Sequence[str], path: str, outer: type[Struct]
) -> dict[str, str]:
    """The known name of each member of the object at `path`; Malformed for an unknown one."""
    return _known_names(names, known, path, (_Object("the body", member_names(outer)),), {})


def member_names(shape: type[Struct]) -> tuple[str, ...]:
    """The names of the members of a shape, as requests write them."""
    return shape.__struct_encode_fields__


def _rename(value: object, info: Type, path: str, around: tuple[_Object, ...]) -> object:
    found = _fitting(info, value)
    if isinstance(found, ListType) and isinstance(value, list):
        return [
            _rename(each, found.item_type, f"{path}[{i}]", around) for i, each in enumerate(value)
        ]
    if isinstance(found, StructType) and isinstance(value, dict):
        return _rename_object(value, found, path, around)
    return value


def _rename_object(
    value: Mapping[str, object], info: StructType, path: str, around: tuple[_Object, ...]
) -> dict[str, object]:
    fields: dict[str, Type] = {field.encode_name: field.type for field in info.fields}
    inner = {name: names for name, type_ in fields.items() if (names := _names_of(type_))}
    if info.tag_field is not None:
        fields[info.tag_field] = AnyType()
    known = _known_names(value, list(fields), path, around, inner)
    here = (*around, _Object(_where(path), list(fields)))
    return {
        known[name]: _rename(each, fields[known[name]], _join(path, known[name]), here)
        for name, each in value.items()
    }


def _known_names(
    names: Iterable[str],
    known: Sequence[str],
    path: str,
    around: Sequence[_Object],
    inner: Mapping[str, Sequence[str]],
) -> dict[str, str]:
    by_fold = {fold(name): name for name in known}
    found: dict[str, str] = {}
    for name in names:
        meant = name if name in known else by_fold.get(fold(name))
        if meant is None:
            raise Malformed(_unknown(name, known, path, around, inner))
        if meant in found.values():
            raise Malformed(f"'{_join(path, meant)}' is given twice, also as '{shorten(name)}'")
        found[name] = meant
    return found


def _unknown(
    name: str,
    known: Sequence[str],
    path: str,
    around: Sequence[_Object],
    inner: Mapping[str, Sequence[str]],
) -> str:
    """The error for an unknown member: where it belongs, or which member was meant."""
    place = _place(fold(name), known, path, around, inner)
    where = f" in {_where(path)}"
    if place is None:
        return unknown_name_message("member", name, known, where, likeness=MEMBER_LIKENESS)
    return f"Unknown member '{shorten(name)}'{where}; {place}"


def _place(
    folded: str,
    known: Sequence[str],
    path: str,
    around: Sequence[_Object],
    inner: Mapping[str, Sequence[str]],
) -> str | None:
    for each in reversed(around):
        if folded in map(fold, each.names):
            return f"it belongs in {each.where}, beside '{_top(path, each.where)}'"
    for member, names in inner.items():
        if folded in map(fold, names):
            return f"it belongs in '{_join(path, member)}'"
    target, text = NEIGHBORS.get(folded, ("", ""))
    return text if target in known else ELSEWHERE.get(folded)


def _top(path: str, where: str) -> str:
    """The member of the outer object in which the path is."""
    rest = path.removeprefix(where.strip("'")).lstrip(".")
    return rest.split(".")[0].split("[")[0]


def _where(path: str) -> str:
    return f"'{path}'" if path else "the body"


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _names_of(info: Type) -> Sequence[str]:
    """The names of the members of an object that a member may be; lists have none."""
    options = info.types if isinstance(info, UnionType) else (info,)
    structs = [option for option in options if isinstance(option, StructType)]
    return [field.encode_name for struct in structs for field in struct.fields]


def _fitting(info: Type, value: object) -> Type:
    """The option of a union that is for values of this JSON type, and of this tag."""
    kinds = (StructType, DictType) if isinstance(value, dict) else (ListType,)
    options = info.types if isinstance(info, UnionType) else (info,)
    fitting = [option for option in options if isinstance(option, kinds)]
    return next((option for option in fitting if _has_tag(option, value)), [*fitting, info][0])


def _has_tag(info: Type, value: object) -> bool:
    """Whether the value has the tag of a shape, if that has one."""
    if not isinstance(info, StructType) or info.tag_field is None:
        return True
    return isinstance(value, dict) and value.get(info.tag_field) == info.tag


@lru_cache(maxsize=256)
def _type_info(shape: Any) -> Type:
    return msgspec.inspect.type_info(shape)
