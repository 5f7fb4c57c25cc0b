"""An answer whose rows are all there, written as a table in a format within its budget."""

from collections.abc import Iterator, Sequence

from starlette.responses import Response

from query.formats.columns import Column, Row
from query.formats.output_formats import Format
from query.response.json_response import counted
from query.response.large_response import LargeResponse
from query.response.response_budget import AnswerBudget

BATCH_ROWS = 2_000


def written(
    format_: Format,
    name: str,
    columns: Sequence[Column],
    rows: Sequence[Row],
    budget: AnswerBudget,
) -> Response:
    """The table as a file of that name; ResultTooLarge when it does not fit into the budget."""
    pieces = counted(_pieces(format_, columns, rows), budget)
    headers = named(format_, name)
    return LargeResponse(pieces, budget, media_type=format_.media_type, headers=headers)


def named(format_: Format, name: str) -> dict[str, str]:
    """What tells a client to keep the answer as a file."""
    return {
        "content-disposition": f'attachment; filename="{name}.{format_.ending}"',
        "cache-control": "no-store",
    }


def _pieces(format_: Format, columns: Sequence[Column], rows: Sequence[Row]) -> Iterator[bytes]:
    assert format_.writer is not None  # noqa: S101 - for the type checker: JSON is no table
    writer = format_.writer(columns)
    yield writer.start()
    for start in range(0, len(rows), BATCH_ROWS):
        yield writer.rows(rows[start : start + BATCH_ROWS])
    yield writer.end()
