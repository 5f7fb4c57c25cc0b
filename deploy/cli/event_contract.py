"""Event contracts: which events a website sends, with which properties; drift of stored events.

A contract is a JSON or TOML file in the repository of the sender:

    {"events": {"purchase": {"properties": {
        "total": {"type": "number", "required": true, "unit": "EUR"},
        "plan": "text"}}}}
"""

import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

PropertyType = Literal["number", "integer", "text", "boolean", "object", "array", "any"]
CHECKS: Mapping[str, Callable[[Any], bool]] = {
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        isinstance(value, int | float) and not isinstance(value, bool) and value == int(value)
    ),
    "text": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "any": lambda value: True,  # noqa: ARG005
}
TRACKER_EVENTS = ("screen_view", "pageview", "page_exit", "outbound_click")
"""Events that trackers send by themselves: no drift where the contract has none of that name."""


class PropertyRule(Struct, frozen=True, forbid_unknown_fields=True):
    """What a property of an event must be."""

    type: PropertyType = "any"
    required: bool = False
    unit: str | None = None
    """For readers."""
    description: str | None = None


class EventRule(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """An event with its properties."""

    properties: dict[str, PropertyRule | PropertyType] = {}
    description: str | None = None
    other_properties: bool = False
    """Whether it may have properties that are not listed."""


class Contract(Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The events of a website."""

    events: Annotated[dict[str, EventRule], Meta(min_length=1)]
    other_events: bool = False
    """Whether the website may send events that are not listed."""


class Drift(Struct, frozen=True):
    """One way in which stored events differ from the contract."""

    event: str
    property: str | None
    problem: str


class DriftCount(Struct, rename="camel"):
    """How many events have a drift, and when the last was."""

    events: int
    last_at: str


class ContractResult(Struct, frozen=True):
    """Stored events against a contract."""

    checked: int
    drifts: Mapping[Drift, DriftCount]
    not_sent: list[str]
    """Events of the contract that no stored event is of."""


class InvalidContract(ValueError):
    """A file that is no contract."""


def read_contract(path: Path) -> Contract:
    """The contract of a file; InvalidContract names the field and the rule."""
    try:
        text = path.read_text()
        data = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
        return msgspec.convert(data, Contract)
    except (ValueError, OSError) as error:  # of JSON, TOML, UTF-8 and msgspec
        hint = "; contracts are JSON or TOML" if path.suffix in (".yaml", ".yml") else ""
        raise InvalidContract(f"{error}{hint}") from None


def check_events(contract: Contract, rows: Iterable[Mapping[str, Any]]) -> ContractResult:
    """Check stored events, each with `name`, `ts` and `properties` as JSON text."""
    drifts: dict[Drift, DriftCount] = {}
    missing = set(contract.events)
    checked = 0
    for row in rows:
        name = row["name"]
        if name in TRACKER_EVENTS and name not in contract.events:
            continue
        checked += 1
        missing.discard(name)
        for drift in _drifts(contract, name, row["properties"]):
            count = drifts.setdefault(drift, DriftCount(0, row["ts"]))
            count.events += 1
            count.last_at = max(count.last_at, row["ts"])
    by_frequency = sorted(drifts.items(), key=lambda item: -item[1].events)
    return ContractResult(checked, dict(by_frequency), sorted(missing))


def _drifts(contract: Contract, name: str, text: str | None) -> Iterator[Drift]:
    rule = contract.events.get(name)
    if rule is None:
        if not contract.other_events:
            yield Drift(name, None, "is not in the contract")
        return
    properties = json.loads(text) if text else {}
    for path, declared in rule.properties.items():
        wanted = declared if isinstance(declared, PropertyRule) else PropertyRule(declared)
        value = _value(properties, path)
        if value is None:
            if wanted.required:
                yield Drift(name, path, "is missing")
        elif not CHECKS[wanted.type](value):
            yield Drift(name, path, f"is {_type_of(value)}, not {wanted.type}")
    if not rule.other_properties:
        listed = {path.partition(".")[0] for path in rule.properties} | set(rule.properties)
        for other in properties.keys() - listed:
            yield Drift(name, other, "is not in the contract")


def _value(properties: Mapping[str, Any], path: str) -> Any:
    """A property by its name, else by its path; None when there is none."""
    if path in properties:
        return properties[path]
    value: Any = properties
    for member in path.split("."):
        value = value.get(member) if isinstance(value, dict) else None
    return value


def _type_of(value: Any) -> str:
    names = ("boolean", "number", "text", "object", "array")
    return next(name for name in names if CHECKS[name](value))
