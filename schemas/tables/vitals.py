"""Web vitals."""

from typing import Annotated, Literal, get_args

from msgspec import Meta

from schemas.items import Item, Label, UrlText
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

Metric = Literal["FCP", "LCP", "CLS", "INP", "TTFB", "FPS"]
METRICS: tuple[str, ...] = get_args(Metric)


class Vital(Item, kw_only=True):
    """One web vitals measurement."""

    path: UrlText
    timezone: Label | None = None
    metric_name: Metric
    metric_value: Annotated[float, Meta(ge=-1e12, le=1e12)]
    """Collectors refuse those below 0, which earlier versions of them accepted."""


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

WEB_VITAL = Kind(
    name="web_vitals",
    description="web vitals",
    path="/vitals",
    item=Vital,
    topic="vitals",
    table=VITALS,
    batch_only=True,
    examples={
        "one metric": [
            {"path": "https://shop.example/", "metricName": "LCP", "metricValue": 1800.5}
        ]
    },
)
