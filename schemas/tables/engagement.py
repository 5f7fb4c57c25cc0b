"""What a visitor did on one page, from coming to leaving."""

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

ENGAGEMENT = Table(
    name="engagement",
    columns=(
        *OF_WEBSITE,
        *PAGE,
        Column("page_index", Type.INTEGER, "which page of the session it was, from 1"),
        Column("exit_type", Type.STRING, "navigation, spa, hidden or unload"),
        Column("time_on_page", Type.DECIMAL, "seconds from coming to leaving"),
        Column("active_time", Type.DECIMAL, "seconds of them in which the page was looked at"),
        Column(
            "time_to_first_interaction", Type.DECIMAL, "milliseconds; 0 when there was no first"
        ),
        Column("max_scroll_depth", Type.DECIMAL, "percent of the page seen"),
        Column("scroll_count", Type.INTEGER, "scrolls"),
        Column("click_count", Type.INTEGER, "clicks"),
        Column("key_count", Type.INTEGER, "keys"),
        Column("interaction_count", Type.INTEGER, "clicks, keys and scrolls, by the tracker"),
        Column("copy_count", Type.INTEGER, "texts copied"),
        Column("rage_click_count", Type.INTEGER, "bursts of clicks on one spot"),
        Column("dead_click_count", Type.INTEGER, "clicks that nothing came of"),
        Column("rage_click_target", Type.STRING, "what was clicked in rage"),
        Column("dead_click_target", Type.STRING, "what was clicked in vain"),
        Column("form_field_count", Type.INTEGER, "form fields that were filled in"),
        Column("form_submit_count", Type.INTEGER, "forms that were sent"),
        Column("last_form_field", Type.STRING, "form field that was touched last"),
        Column("form_abandoned", Type.BOOLEAN, "fields were filled in and no form was sent"),
        Column("error_count", Type.INTEGER, "errors of the page"),
        *AGENT,
        *PLACE,
        *BOT,
        EPOCH,
        DAY,
    ),
    order=("website_id", *IN_TIME),
)
