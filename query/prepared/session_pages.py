"""Sessions and visitors by path, from parts."""

from collections.abc import Sequence
from typing import ClassVar

from query.engine.column_rows import NO_TEXT
from query.engine.engine import Row
from query.prepared.form_ranges import OfWholeRange
from query.prepared.joined_parts import JoinedParts
from query.prepared.part import SESSION_COLUMN, VISITOR_COLUMN
from query.prepared.part_tables import PAGES, label
from query.prepared.quarters import Quarters


class SessionPages(OfWholeRange, frozen=True):
    """A row for each path that was viewed, most sessions first."""

    tables: ClassVar[Sequence[str]] = (PAGES.name,)

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row]:  # noqa: ARG002
        paths, texts = joined.text_numbers(PAGES.name, label("path"))
        rows = joined.columns(PAGES.name, SESSION_COLUMN, VISITOR_COLUMN)
        count = len(texts)
        sessions = joined.distinct(paths, rows[SESSION_COLUMN], count, SESSION_COLUMN)
        visitors = joined.distinct(paths, rows[VISITOR_COLUMN], count)
        viewed = set(paths.tolist()) - {NO_TEXT}
        made = zip(texts, sessions.tolist(), visitors.tolist(), strict=True)
        of_paths = [row for number, row in enumerate(made) if number in viewed]
        return sorted(of_paths, key=lambda row: (-row[1], -row[2], row[0] or ""))
