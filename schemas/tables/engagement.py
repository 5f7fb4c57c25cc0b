"""Engagement: one row for each visit of a page, sent when the visitor leaves it."""

from typing import Annotated, Literal

from msgspec import Meta

from schemas.items import Count, Id, Item, Label, Percentage, Seconds, UrlText
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


class Engagement(Item, kw_only=True):
    """What a visitor did on one page; sent when the visitor leaves it."""

    path: UrlText
    timezone: Label | None = None
    page_index: Count | None = None
    exit_type: Literal["navigation", "spa", "hidden", "unload"] | None = None
    time_on_page: Seconds | None = None
    active_time: Seconds | None = None
    time_to_first_interaction: Annotated[float, Meta(ge=0, le=86_400_000)] | None = None
    max_scroll_depth: Percentage | None = None
    scroll_count: Count | None = None
    click_count: Count | None = None
    key_count: Count | None = None
    interaction_count: Count | None = None
    copy_count: Count | None = None
    rage_click_count: Count | None = None
    dead_click_count: Count | None = None
    rage_click_target: Id | None = None
    dead_click_target: Id | None = None
    form_field_count: Count | None = None
    form_submit_count: Count | None = None
    last_form_field: Id | None = None
    error_count: Count | None = None


ENGAGEMENT = Table(
    name="engagement",
    columns=(
        *WEBSITE_ROW_COLUMNS,
        *PAGE_COLUMNS,
        Column("page_index", ColumnType.INTEGER, "number of the page in the session, from 1"),
        Column("exit_type", ColumnType.STRING, "navigation, spa, hidden or unload"),
        Column("time_on_page", ColumnType.DECIMAL, "seconds from entering to leaving the page"),
        Column("active_time", ColumnType.DECIMAL, "seconds of active use"),
        Column(
            "time_to_first_interaction",
            ColumnType.DECIMAL,
            "milliseconds; 0 without an interaction",
        ),
        Column("max_scroll_depth", ColumnType.DECIMAL, "percent of the page seen"),
        Column("scroll_count", ColumnType.INTEGER, "scrolls"),
        Column("click_count", ColumnType.INTEGER, "clicks"),
        Column("key_count", ColumnType.INTEGER, "key presses"),
        Column(
            "interaction_count",
            ColumnType.INTEGER,
            "clicks, key presses and scrolls, as counted by the tracker",
        ),
        Column("copy_count", ColumnType.INTEGER, "texts copied"),
        Column("rage_click_count", ColumnType.INTEGER, "bursts of clicks on one spot"),
        Column("dead_click_count", ColumnType.INTEGER, "clicks without an effect"),
        Column("rage_click_target", ColumnType.STRING, "element of rage clicks"),
        Column("dead_click_target", ColumnType.STRING, "element of dead clicks"),
        Column("form_field_count", ColumnType.INTEGER, "filled-in form fields"),
        Column("form_submit_count", ColumnType.INTEGER, "submitted forms"),
        Column("last_form_field", ColumnType.STRING, "last form field in use"),
        Column(
            "form_abandoned",
            ColumnType.BOOLEAN,
            "whether fields were filled in and no form was submitted",
        ),
        Column("error_count", ColumnType.INTEGER, "errors on the page"),
        *USER_AGENT_COLUMNS,
        *LOCATION_COLUMNS,
        Column("timezone", ColumnType.STRING, "time zone of the browser"),
        *BOT_COLUMNS,
        EPOCH_COLUMN,
        DAY_COLUMN,
    ),
    sort_order=("website_id", *TIME_ORDER),
)

PAGE_ENGAGEMENT = Kind(
    name="engagement",
    description="engagement, reported when a page is left",
    path="/engagement",
    item=Engagement,
    topic="engagement",
    table=ENGAGEMENT,
    batch_only=True,
    tracker_type="engagement",
    examples={
        "one page visit": [
            {
                "path": "https://shop.example/",
                "exitType": "unload",
                "timeOnPage": 40,
                "clickCount": 3,
            }
        ]
    },
)
