"""Engagement: one row for each visit of a page, sent when the visitor leaves it."""

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

ENGAGEMENT = Table(
    name="engagement",
    columns=(
        *WEBSITE_ROW_COLUMNS,
        *PAGE_COLUMNS,
        Column("page_index", ColumnType.INTEGER, "which page of the session it was, from 1"),
        Column("exit_type", ColumnType.STRING, "navigation, spa, hidden or unload"),
        Column("time_on_page", ColumnType.DECIMAL, "seconds from coming to leaving"),
        Column(
            "active_time", ColumnType.DECIMAL, "seconds of them in which the page was looked at"
        ),
        Column(
            "time_to_first_interaction",
            ColumnType.DECIMAL,
            "milliseconds; 0 when there was no first",
        ),
        Column("max_scroll_depth", ColumnType.DECIMAL, "percent of the page seen"),
        Column("scroll_count", ColumnType.INTEGER, "scrolls"),
        Column("click_count", ColumnType.INTEGER, "clicks"),
        Column("key_count", ColumnType.INTEGER, "keys"),
        Column("interaction_count", ColumnType.INTEGER, "clicks, keys and scrolls, by the tracker"),
        Column("copy_count", ColumnType.INTEGER, "texts copied"),
        Column("rage_click_count", ColumnType.INTEGER, "bursts of clicks on one spot"),
        Column("dead_click_count", ColumnType.INTEGER, "clicks that nothing came of"),
        Column("rage_click_target", ColumnType.STRING, "what was clicked in rage"),
        Column("dead_click_target", ColumnType.STRING, "what was clicked in vain"),
        Column("form_field_count", ColumnType.INTEGER, "form fields that were filled in"),
        Column("form_submit_count", ColumnType.INTEGER, "forms that were sent"),
        Column("last_form_field", ColumnType.STRING, "form field that was touched last"),
        Column("form_abandoned", ColumnType.BOOLEAN, "fields were filled in and no form was sent"),
        Column("error_count", ColumnType.INTEGER, "errors of the page"),
        *USER_AGENT_COLUMNS,
        *LOCATION_COLUMNS,
        *BOT_COLUMNS,
        EPOCH_COLUMN,
        DAY_COLUMN,
    ),
    sort_order=("website_id", *TIME_ORDER),
)
