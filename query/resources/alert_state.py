"""The state of an alert, which its responses show besides."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from schemas.registry import Alert
from schemas.registry.notices import AlertState
from schemas.runtime.clock import format_instant

MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
WAITING_AFTER_MS = {
    "quarter_hour": 35 * MINUTE_MS,
    "hour": 2 * HOUR_MS + 5 * MINUTE_MS,
    "day": 2 * DAY_MS + HOUR_MS,
    "week": 14 * DAY_MS + HOUR_MS,
}
"""How old the last checked bucket may be before the alert waits for data."""


class ShownState(Struct, rename="camel"):
    """What the last check found."""

    state: Annotated[
        Literal["ok", "firing", "waiting", "problem"],
        Meta(description="waiting: not all events of the next bucket are stored yet"),
    ]
    value: Annotated[float | None, Meta(description="number of the last bucket")]
    checked_until: Annotated[str | None, Meta(description="end of the last bucket")]
    since: Annotated[str | None, Meta(description="start of the bucket that began it")]
    problem: Annotated[str | None, Meta(description="why it cannot be checked")]


def shown_state(alert: Alert, state: AlertState | None, now_ms: int) -> ShownState:
    """The state of an alert as responses show it."""
    if state is None:
        return ShownState("waiting", None, None, None, None)
    late = now_ms - state.checked_until > WAITING_AFTER_MS[alert.every]
    name: Literal["ok", "firing", "waiting", "problem"] = "ok"
    if state.problem:
        name = "problem"
    elif state.firing_since is not None:
        name = "firing"
    elif late:
        name = "waiting"
    return ShownState(
        state=name,
        value=state.value,
        checked_until=format_instant(state.checked_until),
        since=format_instant(state.firing_since),
        problem=state.problem or None,
    )
