"""GET /v1/query/tables: what custom queries may name; made from the values that check them."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from query.custom.aggregates import AGGREGATES
from query.custom.tables import CUSTOM_TABLES, CustomColumn, CustomTable
from query.custom.validation import TIME
from query.dependencies import Desk
from query.request.buckets import Granularity
from query.request.operators import OPERATORS
from query.request.property_path import COLUMN, PREFIX
from query.response.json_value import answered
from query.standard.declaration.query_type import Subject
from schemas.tables import CLICKS, Type


async def tables(desk: Desk, request: Request) -> Response:
    """Answer a request; it needs no key, because nothing in it is anybody's."""
    desk.admit_anyone(request)
    return answered(
        {
            "success": True,
            "tables": [_table(table) for table in CUSTOM_TABLES.values()],
            "aggregates": [{"name": a.name, "meaning": a.meaning} for a in AGGREGATES],
            "operators": [
                {"name": o.name, "meaning": o.meaning, "takes": o.takes} for o in OPERATORS
            ],
            "timeBuckets": [f"{TIME}{granularity}" for granularity in Granularity],
        }
    )


def _table(table: CustomTable) -> Mapping[str, object]:
    subjects = [Subject.WEBSITE, Subject.LINK] if table.stored is CLICKS else [Subject.WEBSITE]
    return {
        "name": table.name,
        "meaning": table.meaning,
        "subjects": subjects,
        "properties": f"{PREFIX}<path>" if table.column(COLUMN) else None,
        "columns": [_column(column) for column in table.columns],
    }


def _column(column: CustomColumn) -> Mapping[str, object]:
    return {
        "name": column.name,
        "type": column.type,
        "meaning": column.meaning,
        "groupBy": True,
        "operators": [o.name for o in OPERATORS if column.type is Type.STRING or not o.text_only],
        "aggregates": [a.name for a in AGGREGATES if column.type in a.fits],
    }
