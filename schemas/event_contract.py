"""Event contracts: which events a website sends, with which properties; one check for all readers.

A contract is a JSON or TOML file in the repository of the sender:

    {"events": {"purchase": {"properties": {
        "total": {"type": "number", "required": true, "unit": "EUR"},
        "plan": "text"}}}}

`tidemark contract check` compares stored events with it, the collector those that it receives.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

PropertyType = Literal["number", "integer", "text", "boolean", "object", "array", "any"]
CHECKS: Mapping[str, Callable[[Any], bool]] = {
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "integer": lambda value: (
        (isinstance(value, int) and not isinstance(value, bool))
        or (isinstance(value, float) and value.is_integer())
    ),
    "text": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "any": lambda value: True,  # noqa: ARG005
}
TRACKER_EVENTS = frozenset(
    {
        *("screen_view", "pageview", "page_exit"),
        *("outbound_click", "outgoing_link", "outbound_link", "link_out"),
    }
)
"""Events that trackers send by themselves: no drift where the contract has none of that name."""


MISSING = "is missing"
"""Problem of a required property that an event does not have."""


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


class Enforcement(StrEnum):
    """What the collector does with an event that differs from the contract of its website."""

    OFF = "off"
    """Accept it, and tell in the response and in `/debug`."""
    REFUSE = "refuse"


class WebsiteContract(Struct, frozen=True, forbid_unknown_fields=True):
    """The contract of a website, as its record has it."""

    contract: Contract
    enforce: Annotated[
        Enforcement,
        Meta(
            description="what becomes of an event that differs: `off` accepts it and tells, "
            "`refuse` rejects it"
        ),
    ] = Enforcement.OFF


class Drift(Struct, frozen=True):
    """One way in which an event differs from the contract."""

    event: str
    property: str | None
    problem: str

    def __str__(self) -> str:
        if self.property is None:
            return f"event '{self.event}' {self.problem}"
        return f"'{self.property}' of '{self.event}' {self.problem}"


class ContractChecker:
    """Finds how events differ from a contract."""

    def __init__(self, contract: Contract) -> None:
        self._other_events = contract.other_events
        self._events = {name: _EventChecker(name, rule) for name, rule in contract.events.items()}

    def covers(self, name: str) -> bool:
        """Whether events of this name are checked: not those that only trackers send."""
        return name in self._events or name not in TRACKER_EVENTS

    def drifts(self, name: str, properties: Mapping[str, Any]) -> list[Drift]:
        """How an event differs from the contract; empty if it does not."""
        event = self._events.get(name)
        if event is not None:
            return list(event.drifts(properties))
        if self._other_events or name in TRACKER_EVENTS:
            return []
        return [Drift(name, None, "is not in the contract")]


class _EventChecker:
    """The rules of one event."""

    def __init__(self, name: str, rule: EventRule) -> None:
        self._name = name
        self._rules = [
            (path, declared if isinstance(declared, PropertyRule) else PropertyRule(declared))
            for path, declared in rule.properties.items()
        ]
        outermost = {path.partition(".")[0] for path in rule.properties}
        self._listed = None if rule.other_properties else outermost | set(rule.properties)

    def drifts(self, properties: Mapping[str, Any]) -> Iterator[Drift]:
        for path, rule in self._rules:
            value = _value(properties, path)
            if value is None:
                if rule.required:
                    yield Drift(self._name, path, MISSING)
            elif not CHECKS[rule.type](value):
                yield Drift(self._name, path, f"is {_type_of(value)}, not {rule.type}")
        if self._listed is not None:
            for other in properties:
                if other not in self._listed:
                    yield Drift(self._name, other, "is not in the contract")


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
