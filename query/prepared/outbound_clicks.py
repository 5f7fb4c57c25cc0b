"""Outbound clicks from parts, by link or by target domain."""

from collections.abc import Sequence
from typing import ClassVar

from query.engine.engine import Row
from query.prepared.breakdown import number_groups
from query.prepared.form_ranges import OfWholeRange
from query.prepared.joined_parts import JoinedParts
from query.prepared.other_events import TABLES, OtherEvents
from query.prepared.quarters import Quarters


class OutboundClicks(OfWholeRange, frozen=True):
    """A row for each link, or for each domain, most clicks first."""

    by_domain: bool
    tables: ClassVar[Sequence[str]] = TABLES

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row]:  # noqa: ARG002
        clicks = OtherEvents(joined, are_outbound=True)
        return _domains(clicks) if self.by_domain else _links(clicks)


def _domains(clicks: OtherEvents) -> Sequence[Row]:
    """Domain, clicks, visitors, links, clicks, clicks of all domains."""
    texts, groups = number_groups([clicks.texts("outbound_domain")])
    counts = clicks.events(groups, len(texts)).tolist()
    made = zip(
        (domain for (domain,) in texts),
        counts,
        clicks.visitors(groups, len(texts)).tolist(),
        clicks.distinct_texts("href", groups, len(texts)).tolist(),
        counts,
        [sum(counts)] * len(texts),
        strict=True,
    )
    return sorted(made, key=lambda row: (-row[1], row[0]))


def _links(clicks: OtherEvents) -> Sequence[Row]:
    """Target, text, clicks, visitors, sessions, clicks, clicks of all links, time of the last."""
    texts, groups = number_groups([clicks.texts("href"), clicks.texts("link_text")])
    counts = clicks.events(groups, len(texts)).tolist()
    made = zip(
        (target for target, _ in texts),
        (link_text for _, link_text in texts),
        counts,
        clicks.visitors(groups, len(texts)).tolist(),
        clicks.sessions(groups, len(texts)).tolist(),
        counts,
        [sum(counts)] * len(texts),
        clicks.last_ms(groups, len(texts)).tolist(),
        strict=True,
    )
    return sorted(made, key=lambda row: (-row[2], row[0], row[1]))
