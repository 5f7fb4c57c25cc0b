"""Filters of metrics queries as conditions on rows, and on whole visits."""

import pytest

from query.metrics.conditions import compile_filters, tables_with
from query.request.filters import Filter
from query.request.time_range import TimeRange
from schemas.errors import Malformed
from schemas.tables import ERRORS, EVENTS

CHANNEL = Filter(field="channel", operator="eq", value="Email")
DAY = TimeRange(0, 86_400_000, "UTC")
PATH = Filter(field="path", operator="eq", value="/")


def test_a_filter_on_facts_of_the_visit_is_on_visits() -> None:
    found = compile_filters([CHANNEL, PATH], DAY)

    assert "path = $f1_0" in found.where.text
    assert "visit_channel" in found.visit_where.text
    assert found.visit_where.values == {"f0_0": "Email"}


def test_a_group_that_names_both_is_on_rows() -> None:
    found = compile_filters([Filter(any_of=[CHANNEL, PATH])], DAY)

    assert found.visit_where.text == ""
    assert set(found.where.values.values()) == {"Email", "/"}


def test_a_row_of_events_without_a_visit_has_its_own_source() -> None:
    of_events = compile_filters([CHANNEL], DAY, EVENTS).visit_where.text
    of_errors = compile_filters([CHANNEL], DAY, ERRORS).visit_where.text

    assert "session_hash IS NULL THEN channel" in of_events
    assert "session_hash" not in of_errors


def test_an_unknown_field_is_rejected() -> None:
    with pytest.raises(Malformed, match=r"a metrics query, at 'filters\[0\].field'; did you mean"):
        compile_filters([Filter(field="chanel", operator="eq", value="a")], DAY)


def test_a_part_of_time_is_computed_with_the_offsets_of_the_zone() -> None:
    hours = [
        Filter(field="time:hour_of_day", operator=operator, value=9) for operator in ("gte", "lt")
    ]

    found = compile_filters([*hours, CHANNEL], TimeRange(0, 86_400_000, "Asia/Kolkata"))

    assert found.where.text.count("$hour_of_day_offset_0") == 2
    assert found.where.values == {"f0_0": 9, "f1_0": 9, "hour_of_day_offset_0": 19_800_000}
    assert found.visit_where.values == {"f2_0": "Email"}


def test_fields_of_each_table() -> None:
    assert tables_with("message") == {"errors"}
    assert tables_with("path") == {"events", "errors", "vitals"}
    assert tables_with("visit.channel") == {"events", "errors", "vitals"}
    assert tables_with("properties.plan") == {"events", "errors"}
    assert tables_with("goal") == {"events"}
