"""The channel: one function of ordered rules, paid traffic first."""

from stream.enrich.lookups import Lookups, Memo
from stream.enrich.referrer import DIRECT
from stream.enrich.referrers import source_kind
from stream.rows import Rows

PAID = frozenset(
    ("cpc", "ppc", "cpm", "cpv", "cpa", "cpl", "cpp", "retargeting", "display", "banner")
)
EMAIL = frozenset(("email", "e-mail", "e_mail", "newsletter", "mail"))
SOCIAL = frozenset(
    ("social", "social-network", "social-media", "social_network", "social_media", "sm")
)
UNPAID_CLICK_IDS = frozenset(("fbclid",))
"""Set on every link that leaves the place, advertisement or not."""

CHANNEL_OF = {
    "search": "search",
    "social": "social",
    "video": "social",
    "email": "email",
    "ai": "ai",
}
"""By kind of place; the others (shopping, news, …) are referrals."""

Clues = tuple[str | None, str | None, str | None, str | None, str, str | None]
"""utm_source, utm_medium, utm_campaign, click id, referrer, its kind."""


def put_channel(rows: Rows, lookups: Lookups) -> None:  # noqa: ARG001
    if not rows.wants("channel"):
        return
    nothing = [None] * len(rows)
    columns = rows.columns
    rows.columns["channel"] = [
        _channels[clues]
        for clues in zip(
            columns.get("utm_source", nothing),
            columns.get("utm_medium", nothing),
            columns.get("utm_campaign", nothing),
            columns.get("click_id", nothing),
            columns["referrer"],
            [referrer.kind for referrer in rows.facts["referrer"]],
            strict=True,
        )
    ]


def channel(clues: Clues) -> str:
    """The first rule that applies."""
    source, medium, campaign, click_id, referrer, kind = clues
    medium = (medium or "").strip().lower()
    named = source_kind(source.strip().lower()) if source else None
    if medium in PAID or medium.startswith("paid") or is_paid(click_id):
        return "paid"
    if medium in EMAIL or named == "email":
        return "email"
    if medium in SOCIAL:
        return "social"
    if medium == "organic":
        return "search"
    if named in CHANNEL_OF:
        return CHANNEL_OF[named]
    if source or medium or campaign:
        return "campaign"
    if referrer == DIRECT:
        return "direct"
    return CHANNEL_OF.get(kind or "", "referral")


def is_paid(click_id: str | None) -> bool:
    return click_id is not None and click_id not in UNPAID_CLICK_IDS


_channels: Memo[Clues, str] = Memo(channel)
