"""Rows of results as dicts, with the columns of a comparison."""

from collections.abc import Mapping
from typing import Any

from query.client.errors import ServiceError, _failure


class Rows(list[dict[str, Any]]):
    """Rows as dicts, or as a table of a library that is installed."""

    meta: Mapping[str, Any]
    """What the response says about them: time zone, freshness, number of all rows."""

    def arrow(self) -> Any:
        """As a pyarrow.Table."""
        import pyarrow

        return pyarrow.Table.from_pylist(list(self))

    def frame(self) -> Any:
        """As a data frame of pandas or, where that is not installed, of polars."""
        try:
            import pandas  # type: ignore[import-untyped]  # may not be there
        except ImportError:
            return self._polars()
        return pandas.DataFrame(list(self))

    def _polars(self) -> Any:
        try:
            import polars
        except ImportError:
            raise ImportError("data frames need pandas or polars: pip install pandas") from None
        return polars.DataFrame(list(self))


def _rows_of(response: Mapping[str, Any], name: str = "data") -> Rows:
    """The rows of a response, with its `meta`."""
    rows = Rows(_compared(response, name) if "comparison" in response else response[name])
    rows.meta = response.get("meta", {})
    return rows


def _outcome(entry: Mapping[str, Any]) -> Rows | ServiceError:
    """The rows of one query of a response, or its error."""
    return _rows_of(entry) if entry["success"] else _failure(entry)


def _compared(entry: Mapping[str, Any], name: str) -> Rows:
    both = zip(entry[name], entry["comparison"]["rows"], strict=True)
    return Rows({**row, **_changes(row, compared)} for row, compared in both)


def _changes(row: Mapping[str, Any], compared: Mapping[str, Any]) -> dict[str, Any]:
    previous = compared["previous"] or {}
    times = [name for name in row if name == "date" or name.startswith("time:")]
    columns = {f"previous_{name}": previous.get(name) for name in times}
    for name, change in compared["change"].items():
        columns[f"previous_{name}"] = previous.get(name)
        columns[f"change_{name}"] = change
        columns[f"change_percent_{name}"] = compared["changePercent"][name]
    return columns
