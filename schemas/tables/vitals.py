"""Web vitals."""

from schemas.tables.column import (
    AGENT,
    BOT,
    DAY,
    ORIGIN,
    PLACE,
    WEBSITE,
    WHEN,
    WHO,
    Column,
    Table,
    Type,
)

VITALS = Table(
    name="vitals",
    columns=(
        WEBSITE,
        *WHEN,
        *ORIGIN,
        *WHO,
        Column("host", Type.STRING, "host of the page"),
        Column("path", Type.STRING, "path of the page, decoded, no trailing slash"),
        Column("metric_name", Type.STRING, "FCP, LCP, CLS, INP, TTFB or FPS"),
        Column("metric_value", Type.DECIMAL, "milliseconds; CLS without unit; FPS per second"),
        *AGENT,
        *PLACE,
        *BOT,
        DAY,
    ),
    order=("website_id", "ts", "kafka_partition", "kafka_offset", "seq"),
)
