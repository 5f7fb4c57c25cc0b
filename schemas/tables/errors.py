"""Error reports of pages."""

from typing import Annotated

from msgspec import Meta, Raw

from schemas.items import EMPTY_RAW, Item, Label, NonNegativeInt32, UrlText
from schemas.tables.column import (
    BOT_COLUMNS,
    DAY_COLUMN,
    EPOCH_COLUMN,
    LOCATION_COLUMNS,
    PAGE_COLUMNS,
    TIME_ORDER,
    USER_AGENT_COLUMNS,
    WEBSITE_ROW_COLUMNS,
    Column,
    ColumnType,
    Table,
)
from schemas.tables.item_kind import Kind


class ErrorReport(Item, kw_only=True):
    """One client-side error."""

    message: Annotated[str, Meta(max_length=2048)]
    path: UrlText | None = None
    timezone: Label | None = None
    filename: UrlText | None = None
    lineno: NonNegativeInt32 | None = None
    colno: NonNegativeInt32 | None = None
    stack: Annotated[str, Meta(max_length=16_384)] | None = None
    error_type: Annotated[str, Meta(max_length=128)] | None = None
    level: Label | None = None
    release: Label | None = None
    properties: Raw = EMPTY_RAW


ERRORS = Table(
    name="errors",
    columns=(
        *WEBSITE_ROW_COLUMNS,
        *PAGE_COLUMNS,
        Column("message", ColumnType.STRING, "message of the error"),
        Column("filename", ColumnType.STRING, "URL of the script"),
        Column("lineno", ColumnType.INTEGER, "line in it"),
        Column("colno", ColumnType.INTEGER, "column in it"),
        Column("stack", ColumnType.STRING, "stack trace"),
        Column("error_type", ColumnType.STRING, "class of the error, e.g. TypeError"),
        Column("level", ColumnType.STRING, "error unless the sender says otherwise"),
        Column("release", ColumnType.STRING, "release of the page's code, e.g. 2.4.1"),
        Column(
            "properties",
            ColumnType.STRING,
            "free-form properties, as JSON text with one spelling for each value",
        ),
        *USER_AGENT_COLUMNS,
        *LOCATION_COLUMNS,
        Column("timezone", ColumnType.STRING, "time zone of the browser"),
        *BOT_COLUMNS,
        EPOCH_COLUMN,
        DAY_COLUMN,
    ),
    sort_order=("website_id", *TIME_ORDER),
)

ERROR_REPORT = Kind(
    name="error",
    description="errors that pages reported",
    path="/errors",
    item=ErrorReport,
    topic="errors",
    table=ERRORS,
    batch_only=True,
    tracker_type="error",
    examples={
        "one error": [
            {
                "path": "https://shop.example/",
                "message": "x is undefined",
                "lineno": 3,
                "colno": 7,
                "release": "2.4.1",
                "properties": {"cart": "full"},
            }
        ]
    },
)
