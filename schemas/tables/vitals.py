"""Web vitals."""

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

VITALS = Table(
    name="vitals",
    columns=(
        *OF_WEBSITE,
        *PAGE,
        Column("metric_name", Type.STRING, "FCP, LCP, CLS, INP, TTFB or FPS"),
        Column("metric_value", Type.DECIMAL, "milliseconds; CLS without unit; FPS per second"),
        *AGENT,
        *PLACE,
        *BOT,
        EPOCH,
        DAY,
    ),
    order=("website_id", *IN_TIME),
)
