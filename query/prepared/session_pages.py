"""Sessions and visitors by path, from parts."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from query.engine.engine import Row
from query.prepared.breakdown import text_ranks
from query.prepared.form_ranges import OfWholeRange
from query.prepared.grouped_sessions import count_sessions
from query.prepared.joined_parts import JoinedParts
from query.prepared.part_tables import PAGES
from query.prepared.quarters import Quarters


class SessionPages(OfWholeRange, frozen=True):
    """A row for each path that was viewed, most sessions first."""

    tables: ClassVar[Sequence[str]] = (PAGES.name,)

    def rows(self, joined: JoinedParts, quarters: Quarters) -> Sequence[Row]:  # noqa: ARG002
        texts, _, visitors, sessions = count_sessions(joined, ("path",))
        order = np.lexsort((text_ranks(texts), -visitors, -sessions))
        counts = zip(*(each[order].tolist() for each in (sessions, visitors)), strict=True)
        return [(*texts[i], *own) for i, own in zip(order.tolist(), counts, strict=True)]
