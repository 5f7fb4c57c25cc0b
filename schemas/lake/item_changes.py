"""Changes of a quarantined item before it is sent again, such as `properties.total = number`."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

EVENT_ID = "eventId"
REMOVE = "nothing"


class InvalidChange(ValueError):
    """A change that no item can be given."""


class NotChangeable(ValueError):
    """A change that one item cannot be given."""


def _number(value: Any) -> int | float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    number = msgspec.json.decode(str(value).strip())
    if not isinstance(number, int | float) or isinstance(number, bool):
        raise ValueError
    return number


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _boolean(value: Any) -> bool:
    return {"true": True, "1": True, "false": False, "0": False}[str(value).strip().lower()]


CONVERSIONS: Mapping[str, Callable[[Any], Any]] = {
    "number": _number,
    "text": _text,
    "boolean": _boolean,
}
"""What the value that an item has may be made."""


class ItemChange(Struct, frozen=True):
    """One change: a member of the item, by its path, is converted, replaced or removed."""

    path: tuple[str, ...]
    conversion: str = ""
    value: Any = None

    @property
    def name(self) -> str:
        return ".".join(self.path)

    def apply(self, item: dict[str, Any]) -> None:
        """Change the item; NotChangeable names the member and what is wrong with it."""
        parent: Any = item
        for member in self.path[:-1]:
            parent = parent.get(member) if isinstance(parent, dict) else None
        if not isinstance(parent, dict):
            raise NotChangeable(f"'{self.name}' has no object to be in")
        last = self.path[-1]
        if self.conversion == REMOVE:
            parent.pop(last, None)
        elif not self.conversion:
            parent[last] = self.value
        elif last in parent:
            try:
                parent[last] = CONVERSIONS[self.conversion](parent[last])
            except (ValueError, KeyError, msgspec.DecodeError):
                raise NotChangeable(f"'{self.name}' cannot be made {self.conversion}") from None


POSITION = re.compile(r".{1,249}/[0-9]{1,9}/[0-9]{1,18}/[0-9]{1,9}")


def is_position(text: str) -> bool:
    """Whether it is TOPIC/PARTITION/OFFSET/SEQ of an item."""
    return POSITION.fullmatch(text) is not None


def parse_change(text: str) -> ItemChange:
    """`PATH = number|text|boolean` converts, `PATH = nothing` removes, any other value is put.

    A value is JSON where it can be, else a text. InvalidChange names the rule.
    """
    name, equals, value = (part.strip() for part in text.partition("="))
    path = tuple(name.split("."))
    if not equals or not value or not all(path):
        raise InvalidChange(f"'{text}': give PATH = VALUE, as in 'properties.total = number'")
    if path == (EVENT_ID,):
        raise InvalidChange(f"'{EVENT_ID}' cannot be set: it makes a replay count once")
    if value in CONVERSIONS or value == REMOVE:
        return ItemChange(path, value)
    try:
        return ItemChange(path, value=msgspec.json.decode(value))
    except msgspec.DecodeError:
        return ItemChange(path, value=value)
