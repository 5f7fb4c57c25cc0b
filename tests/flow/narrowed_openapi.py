"""The query service's OpenAPI document, narrowed to values that mean something to one tenant.

Whatever fits the narrowed document fits the document too; but what is made from it gets past the
checks of names and dates, to where questions are compiled and run.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from query.custom.tables import CUSTOM_TABLES
from query.request.subject import SubjectKind
from query.standard.query_types import FAMILIES
from tests.flow.tenant import DAY

EVENTS = [column.name for column in CUSTOM_TABLES["events"].columns]
TYPES = [t.name for family in FAMILIES for t in family if t.subject is SubjectKind.WEBSITE]
TIME_ZONES = ["UTC", "Europe/Berlin", "Asia/Kathmandu"]

TIME_RANGES: Mapping[str, Mapping[str, Any]] = {
    "startDate": {"enum": [str(DAY), "2026-01-01"]},
    "endDate": {"const": str(DAY)},
    "preset": {"const": None},
    "timezone": {"enum": TIME_ZONES},
    "asOf": {"const": None},
    "page": {"const": 1},
    "limit": {"enum": [1, 10]},
}

PROPERTY_OVERRIDES: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("StandardRequestBody", "parameters"): {
        "type": "array",
        "items": {"enum": TYPES},
        "minItems": 1,
        "maxItems": 4,
    },
    ("CustomQueryBody", "table"): {"const": "events"},
    ("CustomQueryBody", "groupBy"): {
        "type": "array",
        "items": {"enum": [*EVENTS, "time:daily", "properties.plan"]},
        "maxItems": 3,
        "uniqueItems": True,
    },
    ("CustomQueryBody", "orderBy"): {"const": []},
    ("CustomQueryBody", "having"): {"const": []},
    ("CustomQueryBody", "selects"): {
        "type": "array",
        "items": {"$ref": "#/components/schemas/SelectTerm"},
        "minItems": 1,
        "maxItems": 1,
    },
    ("SelectTerm", "field"): {"enum": EVENTS},
    ("SelectTerm", "aggregate"): {"enum": ["count", "uniq"]},
    ("SelectTerm", "alias"): {"const": None},
    ("Filter", "field"): {"enum": [*EVENTS, "properties.plan"]},
    ("Filter", "operator"): {"enum": ["eq", "ne", "contains", "is_null", "gt"]},
    ("Filter", "op"): {"const": None},
    ("Filter", "segment"): {"const": None},
    **{
        (body, member): rule
        for body in ("StandardRequestBody", "CustomRequest")
        for member, rule in TIME_RANGES.items()
    },
}

REQUIRED: Mapping[str, list[str]] = {
    "StandardRequestBody": ["parameters", "startDate", "endDate"],
    "CustomRequest": ["query", "startDate", "endDate"],
    "Filter": ["field", "operator", "value"],
}

PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    "timezone": {"enum": TIME_ZONES},
    "startDate": {"const": str(DAY)},
    "endDate": {"const": str(DAY)},
    "preset": {"enum": ["today"]},
    "columns": {"enum": ["ts", "ts,name,properties", "path"]},
    "filters": {"enum": ["[]", '[{"field":"path","operator":"eq","value":"/"}]']},
}


def narrow_document(document: Mapping[str, Any], website_id: str) -> dict[str, Any]:
    """The document for questions about one website."""
    narrowed: dict[str, Any] = deepcopy(dict(document))
    for (name, member), rule in PROPERTY_OVERRIDES.items():
        shape = narrowed["components"]["schemas"][name]
        if member in shape["properties"]:
            shape["properties"][member] = dict(rule)
    for name, members in REQUIRED.items():
        narrowed["components"]["schemas"][name]["required"] = members
    for methods in narrowed["paths"].values():
        for operation in methods.values():
            parameters = [
                p for p in operation["parameters"] if p["name"] != "link_id" or p["required"]
            ]
            operation["parameters"] = [_narrow_parameter(p, website_id) for p in parameters]
    return narrowed


def _narrow_parameter(parameter: dict[str, Any], website_id: str) -> dict[str, Any]:
    if parameter["name"] == "website_id":
        return {**parameter, "required": True, "schema": {"const": website_id}}
    rule = PARAMETERS.get(parameter["name"])
    if rule is None:
        return parameter
    required = parameter["name"] in ("startDate", "endDate")
    return {**parameter, "required": required, "schema": {"type": "string", **rule}}
