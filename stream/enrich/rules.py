"""Which rules enriched a row, so that history can be enriched again where they changed."""

from stream.enrich.lookups import Lookups
from stream.rows import Rows

VERSION = 1
"""Raise it with every change of a step that gives some row another value."""


def put_rules(rows: Rows, lookups: Lookups) -> None:  # noqa: ARG001
    rows.columns["rules_version"] = [VERSION] * len(rows)
