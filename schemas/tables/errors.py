"""Errors that pages reported."""

from schemas.tables.column import (
    AGENT,
    BOT,
    DAY,
    EPOCH,
    IN_TIME,
    OF_WEBSITE,
    PAGE,
    PLACE,
    Column,
    Table,
    Type,
)

ERRORS = Table(
    name="errors",
    columns=(
        *OF_WEBSITE,
        *PAGE,
        Column("message", Type.STRING, "message of the error"),
        Column("filename", Type.STRING, "URL of the script"),
        Column("lineno", Type.INTEGER, "line in it"),
        Column("colno", Type.INTEGER, "column in it"),
        Column("stack", Type.STRING, "stack trace"),
        Column("error_type", Type.STRING, "class of the error, e.g. TypeError"),
        Column("level", Type.STRING, "error unless the sender says otherwise"),
        *AGENT,
        *PLACE,
        *BOT,
        EPOCH,
        DAY,
    ),
    order=("website_id", *IN_TIME),
)
