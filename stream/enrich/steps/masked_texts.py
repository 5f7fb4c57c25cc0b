"""Error texts, paths and URLs without e-mail addresses, tokens and card numbers."""

from collections.abc import Callable
from operator import attrgetter

from stream.enrich.rules.campaign_parameters import UTM
from stream.enrich.rules.lookups import Lookups
from stream.enrich.rules.masking import mask, masked
from stream.enrich.steps.enrichment_step import columns, enrichment_step
from stream.rows.repeated_column import mapped
from stream.rows.row_batch import RowBatch

REPEATED_TEXTS = ("path", "referrer", "href", "link_text", *UTM)
ERROR_TEXTS = ("message", "filename", "stack")


@enrichment_step(reads=columns("message", "filename", "stack", *UTM))
def put_masked_texts(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """Error texts, paths, URLs and campaigns: e-mail addresses, tokens and card numbers masked."""
    is_masked = rows.per_envelope(attrgetter("mask_texts"))
    flags = is_masked if not all(is_masked.values) else None
    for names, function in ((REPEATED_TEXTS, masked.__getitem__), (ERROR_TEXTS, mask)):
        for name in names:
            if name not in rows.columns or not rows.has_column(name):
                continue
            column = rows.columns[name]
            texts = mapped(_optional(function), column)
            rows.columns[name] = (
                texts
                if flags is None
                else [
                    after if flag else before
                    for after, before, flag in zip(texts, column, flags, strict=True)
                ]
            )


def _optional(function: Callable[[str], str]) -> Callable[[str | None], str | None]:
    """The function of texts, for columns that may have none."""
    return lambda text: function(text) if text else text
