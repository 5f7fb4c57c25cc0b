"""FIELDS: names of rows and visits, with the tables that have them."""

import pytest

from query.metrics.fields import ALL_TABLES, FIELDS, READ_TABLES
from query.metrics.metrics import BY_NAME
from query.scope.visits import FACTS
from schemas.tables import ERRORS, EVENTS


def test_every_public_column_has_a_field_in_the_tables_that_have_it() -> None:
    for table in READ_TABLES:
        columns = {column.name for column in table.columns if column.public}
        fields = {f.column for f in FIELDS.values() if table.name in f.tables and not f.of_visit}

        assert columns <= fields
        assert "visitor_hash" not in fields


def test_facts_of_the_visit_are_fields_of_all_tables() -> None:
    for fact in FACTS:
        assert FIELDS[fact.field].tables == ALL_TABLES
        assert FIELDS[fact.field].of_visit


def test_a_plain_source_is_the_fact_of_the_visit() -> None:
    assert FIELDS["channel"].column == FIELDS["visit.channel"].column == "visit_channel"
    assert FIELDS["event.channel"].column == "channel"
    assert FIELDS["event.channel"].tables == {"events"}


def test_a_column_with_the_name_of_a_metric_has_a_full_name() -> None:
    both = {name for name in FIELDS if name in BY_NAME}

    assert both == {"time_on_page", "scroll_depth"}
    assert all(FIELDS[f"event.{name}"].column == FIELDS[name].column for name in both)


@pytest.mark.parametrize(
    ("name", "reads_events"),
    [
        ("path", False),
        ("event.channel", False),
        ("visit.exit_page", True),
        ("visitor.is_new", True),
    ],
)
def test_facts_of_visits_and_visitors_come_from_events(name: str, reads_events: bool) -> None:
    assert FIELDS[name].reads_events is reads_events


def test_a_fact_of_a_row_without_a_visit_is_its_own_in_events_only() -> None:
    channel = FIELDS["visit.channel"]

    assert "ELSE visit_facts.visit_channel" in channel.condition_sql(EVENTS)
    assert channel.condition_sql(ERRORS) == "visit_facts.visit_channel"
    assert FIELDS["path"].condition_sql(ERRORS) == "path"
