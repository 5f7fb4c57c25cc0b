"""properties.a.b: a value inside the free-form properties, named by its path.

The path is bound as a value and never becomes SQL. A value is a number where it is compared or
counted as one and JSON says that it is one; else it is its text.
"""

from msgspec import Struct

from schemas.errors import Malformed

COLUMN = "properties"
PREFIX = f"{COLUMN}."
DEEPEST = 8


class Property(Struct, frozen=True):
    """One property: the name of the bound value that holds its path, and that path."""

    bound: str
    pointer: str

    @property
    def text(self) -> str:
        """The value as text: a string as it is, anything else as JSON writes it."""
        return f"json_extract_string({COLUMN}, ${self.bound})"

    @property
    def number(self) -> str:
        """The value where it is a number."""
        return self._typed("'BIGINT', 'UBIGINT', 'DOUBLE'", f"TRY_CAST({self.text} AS DOUBLE)")

    @property
    def flag(self) -> str:
        """`true` or `false` where it is one."""
        return self._typed("'BOOLEAN'", self.text)

    def _typed(self, types: str, value: str) -> str:
        return f"CASE WHEN json_type({COLUMN}, ${self.bound}) IN ({types}) THEN {value} END"


def is_property(name: str) -> bool:
    """Whether a name is a path into the properties."""
    return name.startswith(PREFIX)


def property_of(name: str, bound: str, at: str) -> Property:
    """The property of that name; Malformed when its path is none."""
    keys = name.removeprefix(PREFIX).split(".")
    if not all(keys) or len(keys) > DEEPEST or "\x00" in name:
        raise Malformed(
            f"'{at}' is '{name[:60]}'; give a path of 1 to {DEEPEST} keys such as properties.plan"
        )
    escaped = (key.replace("~", "~0").replace("/", "~1") for key in keys)
    return Property(bound, "/" + "/".join(escaped))
