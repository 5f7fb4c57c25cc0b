"""Exact percentiles by rank, the same on every engine.

Over rows with `row_rank` (rank of the value, from 1) and `row_count` (number of rows) these columns
pick the two values that a percentile lies between; `fields.quantile` interpolates between them.
"""

import re

IS_PERCENTILE = re.compile(r"p\d+(_|$)")
"""Of the name of a field."""


def quantile_columns(name: str, value: str, percent: int, only: str = "TRUE") -> str:
    """The columns `<name>_low`, `_high` and `_count` of a percentile, of rows that meet `only`."""
    low, high = neighbors(value, percent, only)
    return (
        f"{low} AS {name}_low,\n"
        f"{high} AS {name}_high,\n"
        f"COUNT(CASE WHEN {only} THEN {value} END) AS {name}_count"
    )


def neighbors(value: str, percent: int, only: str = "TRUE") -> tuple[str, str]:
    """The two values that a percentile lies between, of rows that meet `only`."""
    low = f"INT_DIV((row_count - 1) * {percent}, 100) + 1"
    high = f"INT_DIV((row_count - 1) * {percent} + 99, 100) + 1"
    return (
        f"MAX(CASE WHEN {only} AND row_rank = {low} THEN {value} END)",
        f"MAX(CASE WHEN {only} AND row_rank = {high} THEN {value} END)",
    )


def greatest_first(*names: str) -> str:
    """ORDER BY terms of percentiles, named as `p75_lcp`, and of plain columns, then of `label`."""
    terms = [
        f"{name}_low + {name}_high DESC NULLS LAST" if IS_PERCENTILE.match(name) else f"{name} DESC"
        for name in names
    ]
    return ", ".join([*terms, "label"])


def mean_columns(name: str, value: str, only: str = "TRUE") -> str:
    """The columns `<name>_sum` and `_count` of a mean."""
    return (
        f"SUM(CASE WHEN {only} THEN {value} END) AS {name}_sum,\n"
        f"COUNT(CASE WHEN {only} THEN {value} END) AS {name}_count"
    )
