"""A result as a file, within its budget."""

from collections.abc import Iterator, Sequence
from contextlib import closing

from starlette.responses import Response

from query.formats.columns import ResultColumn, Row
from query.formats.output_formats import Format
from query.response.json_response import reserve_pieces
from query.response.large_response import LargeResponse
from query.response.response_budget import ResponseBudget

BATCH_ROWS = 2_000


def table_response(
    format_: Format,
    name: str,
    columns: Sequence[ResultColumn],
    rows: Sequence[Row],
    budget: ResponseBudget,
) -> Response:
    """The table as a file of that name; ResultTooLarge beyond the budget."""
    pieces = reserve_pieces(_pieces(format_, columns, rows), budget)
    headers = disposition_headers(format_, name)
    return LargeResponse(pieces, budget, media_type=format_.media_type, headers=headers)


def disposition_headers(format_: Format, name: str) -> dict[str, str]:
    """Headers that make a client save the response as a file."""
    return {
        "content-disposition": f'attachment; filename="{name}.{format_.extension}"',
        "cache-control": "no-store",
    }


def _pieces(
    format_: Format, columns: Sequence[ResultColumn], rows: Sequence[Row]
) -> Iterator[bytes]:
    assert format_.writer is not None  # noqa: S101 - for the type checker: JSON is no table
    with closing(format_.writer(columns)) as writer:
        yield writer.start()
        for start in range(0, len(rows), BATCH_ROWS):
            yield writer.rows(rows[start : start + BATCH_ROWS])
        yield from writer.end()
