"""Hypothesis profiles: the same examples every time, or more and random ones in a long run.

`pytest tests/oracle --hypothesis-profile=long` is the long run.
"""

from hypothesis import HealthCheck, Phase, settings

USUAL = 100
"""Examples of a hypothesis profile that says nothing about them."""

LONG = "long"

settings.register_profile(LONG, max_examples=20 * USUAL, derandomize=False)


def try_examples(examples: int) -> settings:
    """The settings of a property: so many examples, times what the profile is longer."""
    chosen = settings.default or settings()
    longer = chosen.max_examples != USUAL
    return settings(
        max_examples=max(1, examples * chosen.max_examples // USUAL),
        derandomize=not longer,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink) if longer else (Phase.generate,),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
