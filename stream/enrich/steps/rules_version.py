"""The version of all rules, so that rows of older rules can be found."""

from stream.enrich.rules.lookups import Lookups
from stream.enrich.rules.rules_version import RULES_VERSION
from stream.enrich.steps.enrichment_step import enrichment_step
from stream.rows.repeated_column import constant_column
from stream.rows.row_batch import RowBatch


@enrichment_step(repeatable=True)
def put_rules_version(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """Hash of these rules."""
    rows.columns["rules_version"] = constant_column(RULES_VERSION, len(rows))
