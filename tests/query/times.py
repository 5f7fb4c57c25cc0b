"""Times of the day that most query tests lie in."""


def at(clock: str) -> str:
    return f"2026-11-10T{clock}Z"
