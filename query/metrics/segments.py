"""Segments side by side: the rows of each segment of a query, under the dimension `segment`.

Each segment is a statement of its own, as a visitor may be in several of them; the result is their
union. `null` among the segments stands for the rows of all visitors.
"""

import re
from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from query.engine.engine import Engine, Sql
from query.metrics.dimensions import Dimension
from query.request.filters import Filter
from query.request.order import FieldName
from query.request.segments import filters_of_segment
from query.sql.fragment import PLACEHOLDER, Fragment, merge_values
from query.sql.select import ResultForm, render_form
from schemas.errors import Malformed
from schemas.registry import SavedRecords, Segment
from schemas.tables import ColumnType

SEGMENT = "segment"
SEGMENT_MEANING = "the name of a segment in `segments`; null for all visitors"
MAX_SEGMENTS = 5
UNION = "segment_rows"
"""The relation that the form of the result reads."""
DIMENSION = Dimension(SEGMENT, ColumnType.STRING, SEGMENT)


class SelectedSegment(Struct, frozen=True):
    """A segment of a query; without a name it has no filters, and is of all visitors."""

    name: str | None
    filters: Sequence[Filter] = ()


def select_segments(
    references: Sequence[FieldName | None], saved: SavedRecords
) -> tuple[SelectedSegment, ...]:
    """The segments by id or name; Malformed for one that is unknown or given twice."""
    selected: list[SelectedSegment] = []
    for i, reference in enumerate(references):
        selection = SelectedSegment(None)
        if reference is not None:
            filters = filters_of_segment(reference, saved, f"segments[{i}]")
            segment = saved.find(Segment, reference)
            selection = SelectedSegment(segment.name if segment else reference, filters)
        if selection.name in [other.name for other in selected]:
            text = "null" if selection.name is None else f"'{selection.name[:60]}'"
            raise Malformed(f"'segments[{i}]' is {text} again; give each segment once")
        selected.append(selection)
    return tuple(selected)


async def compile_segments(
    engine: Engine,
    segments: Sequence[SelectedSegment],
    columns: Sequence[str],
    compile_one: Callable[[SelectedSegment], Awaitable[Sql]],
    form: ResultForm,
    values: Fragment,
) -> Sql:
    """One form of the union of the statements of all segments.

    `compile_one` gives the statement of a segment without a form; `columns` are those of the
    result, of which that statement lacks `segment`.
    """
    selected = ", ".join(columns)
    texts: list[str] = []
    bound: dict[str, object] = {}
    for i, segment in enumerate(segments):
        sql = await compile_one(segment)
        texts.append(
            f"SELECT {selected} FROM (\n{_renamed(sql, i)}\n) AS rows_of_segment "  # noqa: S608
            f"CROSS JOIN (SELECT CAST($s{i} AS VARCHAR) AS {SEGMENT}) AS name_of_segment"
        )
        bound |= {f"s{i}_{name}": value for name, value in sql.values.items()} | {
            f"s{i}": segment.name
        }
    text = render_form(form, UNION, engine.dialect)
    union = "\nUNION ALL\n".join(texts)
    text = text.replace(f"FROM {UNION}", f"FROM (\n{union}\n) AS {UNION}")
    return Sql(text, merge_values(bound, values.values))


def _renamed(sql: Sql, position: int) -> str:
    """The text with the position of its segment in the names of its values."""

    def renamed(match: re.Match[str]) -> str:
        name = match[1]
        return f"$s{position}_{name}" if name in sql.values else match[0]

    return PLACEHOLDER.sub(renamed, sql.text)
