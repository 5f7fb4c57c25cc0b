"""Runs one standard question: `scoped` in front, rows shaped, series filled with zeros, paged."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from query.engine import Engine, Row, Sql, joined
from query.scoped import Scope, scoped
from query.span import Granularity, Span
from query.standard.forms import Form
from query.standard.spec import QueryType, forms, shaped

MOST_ROWS = 10_000


class Page(Struct, frozen=True):
    """Which rows of the answer are wanted; without a limit the type's own holds."""

    number: int = 1
    limit: int | None = None

    def cut(self, default: int) -> tuple[int, int]:
        """Limit and offset."""
        limit = self.limit or default
        return limit, (self.number - 1) * limit


async def run(
    engine: Engine, query_type: QueryType, scope: Scope, page: Page, seconds: float
) -> Sequence[Struct]:
    """The rows of the answer."""
    sql = await compiled(engine, query_type, scope, page)
    rows = await engine.rows(sql, seconds)
    shape = forms(query_type.row)
    if query_type.series:
        filled = _filled(rows, scope.span, scope.granularity, shape)
        limit, offset = page.cut(MOST_ROWS)
        rows = filled[offset : offset + limit]
    return [shaped(query_type.row, row, shape) for row in rows]


async def compiled(engine: Engine, query_type: QueryType, scope: Scope, page: Page) -> Sql:
    """The whole statement."""
    base = await scoped(engine, scope, query_type.columns)
    given = "".join(f",\n{cte.name} AS ({cte.sql})" for cte in query_type.given)
    text = f"WITH scoped AS (\n{base.text}\n){given}\n{query_type.sql}"
    if query_type.series:
        return Sql(text, base.values)
    limit, offset = page.cut(query_type.limit)
    cut: dict[str, object] = {"limit": limit, "offset": offset}
    return Sql(f"{text} LIMIT $limit OFFSET $offset", joined(base.values, cut))


def _filled(
    rows: Sequence[Row], span: Span, granularity: Granularity, shape: Mapping[str, Form]
) -> list[Row]:
    """A row for every point of the span, in the order of time; zeros where nothing happened."""
    found = {row[0]: row[1:] for row in rows}
    nothing = (0,) * (sum(len(form.suffixes) for form in shape.values()) - 1)
    points = span.points(granularity)
    return [(point.label, *found.get(point.bucket, nothing)) for point in points]
