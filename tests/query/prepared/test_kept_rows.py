"""Keys of quarter and visitor tell apart all of both."""

import numpy as np

from query.prepared.kept_rows import VISITOR_BITS, quarter_keys


def test_each_quarter_and_visitor_has_a_key_of_its_own() -> None:
    last = 2**VISITOR_BITS - 1
    quarters = np.array([0, 0, 1, 1, 2_000_000], np.uint32)
    visitors = np.array([0, last, 0, last, 7], np.uint32)

    keys = quarter_keys(quarters, visitors)

    assert keys.tolist() == [
        q * 2**32 + v for q, v in zip(quarters.tolist(), visitors.tolist(), strict=True)
    ]
    assert len(set(keys.tolist())) == 5
