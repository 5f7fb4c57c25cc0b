"""The order of texts that are joined of pages by a separator, without making the texts."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct

from query.engine.column_rows import Numbers

SEPARATOR = " → "


class LabelOrder(Struct, frozen=True, eq=False):
    """The place of each page in the order of labels: as their last one, and before another."""

    last: Numbers
    before: Numbers


def label_order(texts: Sequence[str]) -> LabelOrder | None:
    """The order, of distinct texts; None when the first page of a label cannot be told from it.

    Labels differ first where one of their pages does. The texts there, each with the separator
    unless it is the last one, are in the order of the labels, as long as no text with a separator
    begins with another one.
    """
    separated = sorted(text + SEPARATOR for text in texts)
    if any(b.startswith(a) for a, b in pairwise(separated)):
        return None
    both = sorted([*((text, 0) for text in texts), *((text + SEPARATOR, 1) for text in texts)])
    place = {token: i for i, token in enumerate(both)}
    return LabelOrder(
        np.array([place[text, 0] for text in texts], np.int64),
        np.array([place[text + SEPARATOR, 1] for text in texts], np.int64),
    )
