"""Hypothesis profiles: the same examples every time, or more and random ones in a long run.

`make test` tries a fifth of the examples of a property, `make test-long` all (profile `full`);
`pytest tests/oracle --hypothesis-profile=long` is a long run of others.
"""

from hypothesis import HealthCheck, Phase, settings

USUAL = 100
"""Examples of a property that does not say how many."""
FULL, LONG = 2 * USUAL, 20 * 2 * USUAL

# Without a deadline: on a busy machine an example may take any time.
settings.register_profile("usual", max_examples=USUAL, derandomize=True, deadline=None)
settings.register_profile("full", max_examples=FULL, derandomize=True, deadline=None)
settings.register_profile("long", max_examples=LONG, derandomize=False, deadline=None)
settings.load_profile("usual")


def try_examples(examples: int) -> settings:
    """The settings of a property: so many examples in the profile `full`, fewer usually."""
    chosen = settings.default or settings()
    longer = chosen.max_examples >= LONG
    part = 1 / 5 if chosen.max_examples < FULL else chosen.max_examples // FULL
    return settings(
        max_examples=max(1, int(examples * part)),
        derandomize=not longer,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink) if longer else (Phase.generate,),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
