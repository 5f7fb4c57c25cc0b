"""Web vitals."""

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

VITALS = Table(
    name="vitals",
    columns=(
        *WEBSITE_ROW_COLUMNS,
        *PAGE_COLUMNS,
        Column("metric_name", ColumnType.STRING, "FCP, LCP, CLS, INP, TTFB or FPS"),
        Column(
            "metric_value", ColumnType.DECIMAL, "milliseconds; CLS without unit; FPS per second"
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
