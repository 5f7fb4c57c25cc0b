"""The first difference of two answers.

Everything must be equal but floats, which may differ by 1e-9 of their value or by 1e-6: a sum of
doubles depends on the order of the rows (each addition rounds by 2^-53 of the sum), and results
have six decimals. Integers, decimals, text, the order of rows and errors are compared exactly.
"""

from math import isclose
from typing import Any

RELATIVE, ABSOLUTE = 1e-9, 1e-6


def difference(expected: Any, found: Any, at: str = "") -> str | None:
    """Where the answers differ, and what is there; None when they are the same."""
    if isinstance(expected, dict) and isinstance(found, dict):
        if list(expected) != list(found):
            return f"{at}: {list(expected)} and {list(found)}"
        return _first(*(difference(expected[k], found[k], f"{at}.{k}") for k in expected))
    if isinstance(expected, list) and isinstance(found, list):
        pairs = zip(expected, found, strict=False)
        inner = _first(*(difference(a, b, f"{at}[{i}]") for i, (a, b) in enumerate(pairs)))
        unequal = len(expected) != len(found)
        return inner or (f"{at}: {len(expected)} and {len(found)} long" if unequal else None)
    if isinstance(expected, float) and isinstance(found, float):
        same = isclose(expected, found, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    else:
        same = type(expected) is type(found) and expected == found
    return None if same else f"{at}: {expected!r:.200} and {found!r:.200}"


def _first(*found: str | None) -> str | None:
    return next((one for one in found if one is not None), None)
