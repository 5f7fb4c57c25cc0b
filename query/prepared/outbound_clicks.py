"""Outbound clicks from parts, by link or by target domain."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from query.engine.column_rows import NO_TEXT, Numbers
from query.engine.engine import Row
from query.prepared.breakdown import number_groups
from query.prepared.group_numbers import distinct_values, greatest, sums
from query.prepared.joined_parts import JoinedParts, NumberedTexts
from query.prepared.part_tables import NO_SESSION, OUTBOUND, QUARTER_MS, label
from query.prepared.quarters import Quarters, whole_range
from query.request.buckets import Granularity
from query.request.time_range import TimeRange


class OutboundClicks(Struct, frozen=True):
    """A row for each link, or for each domain, most clicks first."""

    by_domain: bool
    tables: Sequence[str] = (OUTBOUND.name,)
    visit_tables: Sequence[str] = ()

    def quarters(self, time_range: TimeRange, granularity: Granularity) -> Quarters | None:  # noqa: ARG002
        return whole_range(time_range)

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row]:  # noqa: ARG002
        rows = joined.columns(OUTBOUND.name)
        hrefs = _texts(joined, "href")
        return _domains(joined, rows, hrefs) if self.by_domain else _links(joined, rows, hrefs)


def _texts(joined: JoinedParts, column: str) -> NumberedTexts:
    return joined.text_numbers(OUTBOUND.name, label(column))


def _domains(
    joined: JoinedParts, rows: Mapping[str, Numbers], hrefs: NumberedTexts
) -> Sequence[Row]:
    """Domain, clicks, visitors, links, clicks, clicks of all domains."""
    texts, groups = number_groups([_texts(joined, "outbound_domain")])
    clicks, visitors = _clicks_and_visitors(joined, rows, groups, len(texts))
    links = distinct_values(groups, hrefs[0], len(texts), NO_TEXT).tolist()
    whole = sum(clicks)
    made = zip(texts, clicks, visitors, links, clicks, strict=True)
    return sorted(
        ((*text, *numbers, whole) for text, *numbers in made), key=lambda row: (-row[1], row[0])
    )


def _links(joined: JoinedParts, rows: Mapping[str, Numbers], hrefs: NumberedTexts) -> Sequence[Row]:
    """Target, text, clicks, visitors, sessions, clicks, clicks of all links, time of the last."""
    texts, groups = number_groups([hrefs, _texts(joined, "link_text")])
    clicks, visitors = _clicks_and_visitors(joined, rows, groups, len(texts))
    sessions = distinct_values(groups, rows["session_key"], len(texts), NO_SESSION).tolist()
    times = rows["quarter"].astype(np.int64) * QUARTER_MS + rows["last_ms"]
    last = greatest(groups, times, len(texts)).tolist()
    whole = sum(clicks)
    made = zip(texts, clicks, visitors, sessions, clicks, last, strict=True)
    return sorted(
        ((*text, *numbers, whole, at) for text, *numbers, at in made),
        key=lambda row: (-row[2], row[0], row[1]),
    )


def _clicks_and_visitors(
    joined: JoinedParts, rows: Mapping[str, Numbers], groups: Numbers, count: int
) -> tuple[list[int], list[int]]:
    clicks = sums(groups, rows["row_count"], count).tolist()
    return clicks, joined.distinct(groups, rows["visitor"], count).tolist()
