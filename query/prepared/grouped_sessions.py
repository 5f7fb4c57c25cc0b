"""Sessions of groups of page views, beside their page views and visitors."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from query.engine.column_rows import Numbers
from query.engine.engine import Row
from query.prepared.breakdown import Texts, groups_by
from query.prepared.form_ranges import OfWholeRange
from query.prepared.joined_parts import JoinedParts
from query.prepared.part import SESSION_COLUMN
from query.prepared.part_tables import FACTS
from query.prepared.quarters import Quarters


class GroupedSessions(OfWholeRange, frozen=True):
    """A row for each group: its texts together, each of them, page views, visitors, sessions.

    Most visitors come first. No text of a column but the first is the empty text.
    """

    columns: tuple[str, ...]
    tables: ClassVar[Sequence[str]] = (FACTS.name,)

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row]:  # noqa: ARG002
        texts, *counts = count_sessions(joined, self.columns)
        made = [
            (" ".join((own[0], *filter(None, own[1:]))), *own, *numbers)
            for own, *numbers in zip(texts, *(each.tolist() for each in counts), strict=True)
        ]
        return sorted(made, key=lambda row: (-row[-2], -row[-3], *row[:-3]))


def count_sessions(
    joined: JoinedParts, columns: Sequence[str]
) -> tuple[Sequence[Texts], Numbers, Numbers, Numbers]:
    """Texts, page views, visitors and sessions of each group that has page views."""
    groups = groups_by(joined, columns)
    of_sessions = groups_by(joined, columns, of=SESSION_COLUMN)
    sessions = of_sessions.visitors
    if of_sessions.texts != groups.texts:
        number = {texts: i for i, texts in enumerate(of_sessions.texts)}
        sessions = sessions[[number[texts] for texts in groups.texts]]
    having = np.flatnonzero(groups.views)
    texts = [groups.texts[i] for i in having.tolist()]
    return texts, groups.views[having], groups.visitors[having], sessions[having]
