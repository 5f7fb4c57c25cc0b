"""The content coding of an answer that is kept in several: what the client likes best."""

from collections.abc import Iterable

IDENTITY = "identity"


def negotiate_encoding(accepted: str | None, kept: Iterable[str]) -> str:
    """The coding among `kept`, best first, that `Accept-Encoding` rates highest; else as it is.

    A coding with a quality of 0, or one that is not named, is not wanted; `*` speaks for those
    that are not named.
    """
    wishes = dict(
        _parse_preference(part) for part in (accepted or "").lower().split(",") if part.strip()
    )
    others = wishes.get("*", 0.0)
    rated = {coding: wishes.get(coding, others) for coding in kept}
    best = max(rated, key=lambda coding: rated[coding], default=IDENTITY)
    return best if rated.get(best, 0.0) > 0 and rated[best] >= wishes.get(IDENTITY, 0) else IDENTITY


def _parse_preference(part: str) -> tuple[str, float]:
    coding, _, parameters = part.partition(";")
    name, _, value = parameters.partition("=")
    return coding.strip(), _quality(value) if name.strip() == "q" else 1.0


def _quality(text: str) -> float:
    try:
        return min(max(float(text), 0.0), 1.0)
    except ValueError:
        return 0.0
