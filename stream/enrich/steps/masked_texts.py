"""Error texts, paths and URLs without e-mail addresses, tokens and card numbers."""

from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter

from stream.enrich.rules.campaign_parameters import UTM
from stream.enrich.rules.lookups import Lookups
from stream.enrich.rules.masking import mask, masked
from stream.enrich.steps.enrichment_step import columns, enrichment_step
from stream.rows.repeated_column import RepeatedColumn, mapped
from stream.rows.row_batch import Column, RowBatch

REPEATED_TEXTS = ("path", "referrer", "href", "link_text", *UTM)
ERROR_TEXTS = ("message", "filename", "stack")


@enrichment_step(reads=columns(*ERROR_TEXTS, *UTM))
def put_masked_texts(rows: RowBatch, lookups: Lookups) -> None:  # noqa: ARG001
    """Error texts, paths, URLs and campaigns: e-mail addresses, tokens and card numbers masked."""
    is_masked = rows.per_envelope(attrgetter("mask_texts"))
    flags = is_masked if not all(is_masked.values) else None
    for names, function in ((REPEATED_TEXTS, masked.__getitem__), (ERROR_TEXTS, mask)):
        for name in names:
            if name not in rows.columns or not rows.has_column(name):
                continue
            column = rows.columns[name]
            texts = column
            if replaced := replacements(column, function):
                masked_texts = mapped(partial(replaced_text, replaced), column)
                texts = masked_texts if flags is None else chosen(masked_texts, column, flags)
            rows.columns[name] = texts


def replacements(column: Column, function: Callable[[str], str]) -> dict[str, str]:
    """The texts of a column that have something to mask, with the masked ones; most have none."""
    distinct = set(column.values if isinstance(column, RepeatedColumn) else column)
    return {text: replaced for text in distinct if text and (replaced := function(text)) != text}


def replaced_text(replaced: Mapping[str, str], text: str | None) -> str | None:
    return replaced.get(text, text) if text else text


def chosen(masked_texts: Column, texts: Column, flags: Column) -> list[str | None]:
    """The masked text of the rows that have the flag, the one before of the others."""
    return [
        after if flag else before
        for after, before, flag in zip(masked_texts, texts, flags, strict=True)
    ]
