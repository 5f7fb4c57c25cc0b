"""Import watermark: first line of an import that the table does not hold; sealed on deletion.

It is stored beside the table's next offsets and moved by the commit that stores the rows, so that a
crash cannot make it wrong. Deleting an import seals the watermark: a commit that expects the
unsealed value is refused from then on, by the compare-and-swap of the table.
"""

SEALED = 2**62
"""Added to the watermark of a deleted import. The line stays in it and still advances, so that
the items of a repeated batch are classified as before the deletion."""


def watermark_line(watermark: int) -> int:
    """The first line that the table does not hold, sealed or not."""
    return watermark % SEALED


def watermark_key(import_id: str) -> str:
    """The name under which a table keeps the watermark of an import."""
    return f"import/{import_id}"
