"""Custom events by name from parts: their number, visitors, sessions, first and last time."""

from collections.abc import Sequence
from typing import ClassVar

from query.engine.engine import Row
from query.prepared.breakdown import number_groups
from query.prepared.form_ranges import OfWholeRange
from query.prepared.joined_parts import JoinedParts
from query.prepared.other_events import TABLES, OtherEvents
from query.prepared.quarters import Quarters


class CustomEventNames(OfWholeRange, frozen=True):
    """A row for each name, most visitors first, then most events."""

    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row]:  # noqa: ARG002
        events = OtherEvents(joined, are_outbound=False)
        texts, groups = number_groups([events.texts("name")])
        visitors = events.visitors(groups, len(texts)).tolist()
        made = zip(
            (name for (name,) in texts),
            events.events(groups, len(texts)).tolist(),
            visitors,
            events.sessions(groups, len(texts)).tolist(),
            events.last_ms(groups, len(texts)).tolist(),
            events.first_ms(groups, len(texts)).tolist(),
            events.with_properties(groups, len(texts)).tolist(),
            visitors,
            [sum(visitors)] * len(texts),
            strict=True,
        )
        return sorted(made, key=lambda row: (-row[2], -row[1], row[0]))
