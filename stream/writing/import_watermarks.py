"""Marks: how far a table is with each import, moved by the same commit that stores its rows.

A mark is the first line of the file that the table does not hold. It stands beside the table's next
offsets, so that it is exact whatever is killed; and it is what an undoing closes: a commit that was
made for an open mark is refused from then on, by the table itself.
"""

SEALED = 2**62
"""What is added to the mark of an import that is undone. The line stays in it, and goes on: so a
batch that is given again is taken apart as it was before the undoing."""


def watermark_line(mark: int) -> int:
    """The first line that the table does not hold, whether the mark is closed or not."""
    return mark % SEALED


def watermark_key(import_id: str) -> str:
    """Under which name a table keeps the mark of an import."""
    return f"import/{import_id}"
