"""Questions of an analyst: which visits do purchases come from, by first, last and all touches."""

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

import pytest

from tests.flow.analyst.shop import PURCHASE, Shop
from tests.flow.analyst.shop_traffic import Act
from tests.flow.analyst.truth import Truth, grouped

WINDOW_MS = 30 * 86_400_000
MODELS = ("first_touch", "last_touch", "last_non_direct", "linear", "position_based")


@pytest.mark.parametrize("model", MODELS)
def test_purchases_by_the_channels_that_led_to_them(shop: Shop, model: str) -> None:
    query = {"name": "attribution", "goal": PURCHASE, "model": model}

    rows = shop.rows(query, limit=100)

    truth = Truth(shop.acts)
    expected: dict[str | None, Fraction] = defaultdict(Fraction)
    for act in truth.named("purchase"):
        channels = touches(truth, act)
        for channel, share in zip(channels, shares(model, channels), strict=True):
            expected[channel] += share
    found = {row["name"]: row["conversions"] for row in rows if row["conversions"]}
    assert found == {
        name: pytest.approx(float(share), abs=1e-4) for name, share in expected.items() if share
    }
    assert sum(found.values()) == pytest.approx(len(truth.named("purchase")), abs=1e-2)
    assert len(found) > 2


def touches(truth: Truth, conversion: Act) -> list[str]:
    """The channels of the visits that began in the window before, in their order."""
    own = [act for act in truth.views if act.visit.visitor == conversion.visit.visitor]
    firsts = [views[0] for views in grouped(own, lambda act: act.visit.session).values()]
    within = [act for act in firsts if 0 <= conversion.ms - act.ms <= WINDOW_MS]
    return [act.visit.source.channel for act in sorted(within, key=lambda act: act.ms)]


def shares(model: str, channels: Sequence[str]) -> list[Fraction]:
    """What the touches of one conversion get."""
    count = len(channels)
    known = [i for i, channel in enumerate(channels) if channel != "Direct"]
    chosen = {
        "first_touch": 0,
        "last_touch": count - 1,
        "last_non_direct": known[-1] if known else count - 1,
    }
    if model in chosen:
        return [Fraction(i == chosen[model]) for i in range(count)]
    if model == "linear" or count < 3:
        return [Fraction(1, count)] * count
    inner = [Fraction(1, 5 * (count - 2))] * (count - 2)
    return [Fraction(2, 5), *inner, Fraction(2, 5)]
