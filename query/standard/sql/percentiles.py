"""Percentiles by rank: exact on every engine, from whole rows rather than estimates.

Over rows with `place` (from 1, in the order of the value) and `places` (how many there are) the two
values that a percentile lies between are picked; `forms.quantile` goes the rest of the way.
"""


def quantile_columns(name: str, value: str, percent: int, only: str = "TRUE") -> str:
    """The columns `<name>_low`, `_high` and `_count` of a percentile; `only` chooses rows."""
    low = f"(places - 1) * {percent} // 100 + 1"
    high = f"((places - 1) * {percent} + 99) // 100 + 1"
    return (
        f"MAX(CASE WHEN {only} AND place = {low} THEN {value} END) AS {name}_low,\n"
        f"MAX(CASE WHEN {only} AND place = {high} THEN {value} END) AS {name}_high,\n"
        f"COUNT(CASE WHEN {only} THEN {value} END) AS {name}_count"
    )


def mean_columns(name: str, value: str, only: str = "TRUE") -> str:
    """The columns `<name>_sum` and `_count` of a mean."""
    return (
        f"SUM(CASE WHEN {only} THEN {value} END) AS {name}_sum,\n"
        f"COUNT(CASE WHEN {only} THEN {value} END) AS {name}_count"
    )
