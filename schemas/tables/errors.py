"""Error reports of pages."""

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
        *USER_AGENT_COLUMNS,
        *LOCATION_COLUMNS,
        Column("timezone", ColumnType.STRING, "time zone of the browser"),
        *BOT_COLUMNS,
        EPOCH_COLUMN,
        DAY_COLUMN,
    ),
    sort_order=("website_id", *TIME_ORDER),
)
