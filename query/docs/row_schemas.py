"""The rows of every query type in the OpenAPI document, under names that users know."""

from collections import Counter
from typing import Annotated

from msgspec import Meta, Struct, defstruct

from query.standard.query_types import FAMILIES
from schemas.http.openapi import schema_name

TYPES = tuple(query_type for family in FAMILIES for query_type in family)
USES = Counter(query_type.row for query_type in TYPES)

ROW_SCHEMAS = defstruct(
    "RowsByQueryType",
    [
        (
            query_type.name,
            Annotated[
                list.__class_getitem__(query_type.row), Meta(description=query_type.description)
            ],
        )
        for query_type in TYPES
    ],
    namespace={"__doc__": "Every query type with its rows: what it returns, and the fields."},
)


def _row_name(row: type[Struct], query_type: str) -> str:
    """The name of a row: of its query type, or of the row itself when several types share it."""
    name = schema_name(query_type) if USES[row] == 1 else row.__name__
    return f"{name.removesuffix('Row')}Row"


ROW_NAMES: dict[type, str] = {
    query_type.row: _row_name(query_type.row, query_type.name) for query_type in TYPES
}
"""Name of each row type in the document."""
