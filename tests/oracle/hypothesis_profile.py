"""Hypothesis profiles: the same examples every time, or more and random ones in a long run.

`make test` tries half of the examples of a property, `make test-long` all (profile `full`);
`pytest tests/oracle --hypothesis-profile=long` is a long run of others.
"""

from hypothesis import HealthCheck, Phase, settings

USUAL = 100
"""Examples of a hypothesis profile that says nothing about them."""
FULL, LONG = 2 * USUAL, 20 * 2 * USUAL

settings.register_profile("full", max_examples=FULL)
settings.register_profile("long", max_examples=LONG, derandomize=False)


def try_examples(examples: int) -> settings:
    """The settings of a property: so many examples in the profile `full`, half of them usually."""
    chosen = settings.default or settings()
    longer = chosen.max_examples >= LONG
    return settings(
        max_examples=max(1, examples * chosen.max_examples // FULL),
        derandomize=not longer,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink) if longer else (Phase.generate,),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
