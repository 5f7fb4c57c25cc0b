"""Sessions that have rows before and after a time, found without looking at all of them.

Sessions are in the order of their time. Of each block the first quarter of all of its sessions is
known, and the last one: few blocks have a session that goes on after any given quarter begins.
"""

import numpy as np

from query.engine.column_rows import Numbers

BLOCK = 4_096
"""Sessions of a block."""


def block_edges(starts: Numbers, ends: Numbers) -> Numbers:
    """The first quarter of each block, and the last one, from those of each session."""
    begins = np.arange(0, len(starts), BLOCK)
    if not len(begins):
        return np.empty((2, 0), np.int64)
    edges = [np.minimum.reduceat(starts, begins), np.maximum.reduceat(ends, begins)]
    return np.array(edges, np.int64)


def crossing(starts: Numbers, ends: Numbers, edges: Numbers, quarter: int) -> Numbers:
    """The positions of sessions that have rows before and after this quarter begins."""
    found = [np.empty(0, np.intp)]
    for i in np.flatnonzero((edges[0] < quarter) & (edges[1] >= quarter)).tolist():
        own = slice(i * BLOCK, (i + 1) * BLOCK)
        at = np.flatnonzero((starts[own] < quarter) & (ends[own] >= quarter))
        found.append(at + own.start)
    return np.concatenate(found)
