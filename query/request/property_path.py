"""`properties.a.b`: a value inside the JSON properties, by its path.

The path is a bound value and never becomes SQL. A property is a number where a number is needed and
its JSON type is a number; otherwise it is text.
"""

from msgspec import Struct

from schemas.errors import Malformed

PROPERTIES_COLUMN = "properties"
PREFIX = f"{PROPERTIES_COLUMN}."
TRAITS_PREFIX = "traits."
TRAITS_COLUMN = "traits_of_visitor"
"""The column with the traits of the visitor of a row."""
MAX_KEYS = 8
MAX_SUMMED = "1e100"
"""The largest property value that enters sums, means and quantiles.

Anybody may send 1e308, and two of them overflow: one visitor could break the result for everyone.
Up to this limit any number of rows has a sum.
"""


class PropertyPath(Struct, frozen=True):
    """One property: its JSON pointer, and the name of the bound value that holds it."""

    parameter: str
    pointer: str
    column: str = PROPERTIES_COLUMN
    """The column with the JSON text."""

    @property
    def text(self) -> str:
        """The value as text: a string as it is, anything else as JSON."""
        return f"PROPERTY_TEXT({self.column}, ${self.parameter})"

    @property
    def number(self) -> str:
        """The value where it is a number."""
        return self._where("PROPERTY_IS_NUMBER", f"TRY_CAST({self.text} AS DOUBLE)")

    @property
    def boolean(self) -> str:
        """`true` or `false` where it is one."""
        return self._where("PROPERTY_IS_BOOLEAN", self.text)

    def _where(self, condition: str, value: str) -> str:
        return f"CASE WHEN {condition}({self.column}, ${self.parameter}) THEN {value} END"


def is_property(name: str) -> bool:
    """Whether a name is a path into the properties."""
    return name.startswith(PREFIX)


def is_trait(name: str) -> bool:
    """Whether a name is a path into the traits of a visitor."""
    return name.startswith(TRAITS_PREFIX)


def parse_property(name: str, bound: str, at: str) -> PropertyPath:
    """The property or trait of that name; Malformed when the path is not valid."""
    trait = is_trait(name)
    prefix = TRAITS_PREFIX if trait else PREFIX
    keys = name.removeprefix(prefix).split(".")
    if not all(keys) or len(keys) > MAX_KEYS or "\x00" in name:
        raise Malformed(
            f"'{at}' is '{name[:60]}'; use a path of 1 to {MAX_KEYS} keys such as {prefix}plan"
        )
    escaped = (key.replace("~", "~0").replace("/", "~1") for key in keys)
    column = TRAITS_COLUMN if trait else PROPERTIES_COLUMN
    return PropertyPath(bound, "/" + "/".join(escaped), column)
