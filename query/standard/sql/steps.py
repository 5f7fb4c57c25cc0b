"""Funnel steps and goals as SQL conditions: an event or a page view, with filters."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from query.request.filters import Filter, FilterField, compile_conditions
from query.scope.visits import FACTS, SOURCE_FACTS, row_source_fields
from query.sql.fragment import Fragment, all_of
from query.sql.row_definitions import PAGE_VIEW
from schemas.errors import Malformed
from schemas.tables import EVENTS, ColumnType

StepText = Annotated[str, Meta(min_length=1, max_length=2048)]

FIELDS: Mapping[str, FilterField] = {
    **{c.name: FilterField(c.type, c.name) for c in EVENTS.columns if c.public},
    **row_source_fields(EVENTS),
    **{fact.name: FilterField(ColumnType.STRING, fact.sql_column) for fact in SOURCE_FACTS},
    **{fact.field: FilterField(ColumnType.STRING, fact.sql_column) for fact in FACTS},
}
"""As in the filters of a query; facts of the visit are columns of `scoped`."""


class Step(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """An event with that name, or a page view of that path."""

    event: StepText | None = None
    path: StepText | None = None
    filters: list[Filter] = []
    label: StepText | None = None

    @property
    def display_name(self) -> str:
        """Its label, else the event or the path."""
        return self.label or self.event or self.path or ""


def step_condition(step: Step, path: str, prefix: str) -> Fragment:
    """The condition on a row of `scoped` that completes the step."""
    if (step.event is None) is (step.path is None):
        raise Malformed(f"'{path}' must have either 'event' or 'path'")
    value = f"{prefix}_is"
    text = f"name = ${value}" if step.path is None else f"{PAGE_VIEW} AND path = ${value}"
    where = compile_conditions(
        step.filters, FIELDS, "table 'events'", f"{path}.filters", f"{prefix}_f"
    )
    own = Fragment(text, {value: step.event if step.path is None else step.path})
    condition = all_of(own, where)
    return Fragment(f"({condition.text})", condition.values)
