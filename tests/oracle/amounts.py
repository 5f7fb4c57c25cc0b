"""Amounts of money in properties: numbers, and texts that are plainly one."""

import json
import re
from fractions import Fraction
from typing import Any

from tests.oracle.stored_rows import Row


def amount(row: Row, name: str) -> Fraction | None:
    """The amount in a property; the texts of the traffic have neither marks nor currencies."""
    found: Any = json.loads(row.get("properties") or "{}").get(name.removeprefix("properties."))
    if isinstance(found, str):
        return Fraction(found) if re.fullmatch(r"-?\d+", found) else None
    number = isinstance(found, int | float) and not isinstance(found, bool)
    return Fraction(found) if number else None
