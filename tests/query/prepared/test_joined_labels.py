"""The order of labels of several pages."""

from itertools import product

import numpy as np

from query.prepared.page_paths import SEPARATOR, label_order


def test_places_are_in_the_order_of_the_labels() -> None:
    texts = sorted(["/", "/a", "/a b", "/a\t", "/a/", "", "/ä", "/a →", "/a!", "\x01"])
    order = label_order([text for text in texts if text != "/a →"])
    texts.remove("/a →")
    assert order is not None
    labels = []
    for pages in (p for n in (1, 2, 3) for p in product(range(len(texts)), repeat=n)):
        places = [*(int(order.before[page]) for page in pages[:-1]), int(order.last[pages[-1]])]
        labels.append((places, SEPARATOR.join(texts[page] for page in pages)))
    by_places = [label for _, label in sorted(labels)]
    assert by_places == sorted(by_places)
    assert len(set(by_places)) == len(by_places)


def test_a_page_that_begins_like_a_label_is_told() -> None:
    assert label_order(["/a", "/a → /b"]) is None
    assert label_order(["/a", "/a →"]) is None
    assert label_order(["/a", "/ab → /c"]) is not None
    assert label_order([]) is not None
    assert len(label_order([]).last) == 0  # type: ignore[union-attr]
    assert np.unique(label_order(["/", "/b"]).before).tolist() == [1, 3]  # type: ignore[union-attr]
