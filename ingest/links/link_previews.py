"""Link previews: detects preview bots and renders their Open Graph page."""

from collections.abc import Iterator
from functools import lru_cache
from html import escape

from schemas.registry import Link

PREVIEW_BOTS = (
    "facebookexternalhit",
    "Facebot",
    "meta-externalfetcher",
    "Twitterbot",
    "LinkedInBot",
    "Slackbot-LinkExpanding",
    "Slack-ImgProxy",
    "Discordbot",
    "TelegramBot",
    "WhatsApp/",
    "SkypeUriPreview",
    "MicrosoftPreview",
    "BingPreview",
    "redditbot",
    "Pinterestbot",
    "pinterest.com/bot",
    "Embedly",
    "Iframely",
    "vkShare",
    "OdklBot",
    "Mastodon/",
    "Bluesky Cardyb",
    "Mattermost-Bot",
    "Snap URL Preview",
    "kakaotalk-scrap",
    "Linespider",
    "Google-PageRenderer",
    "Viberbot",
    "SummalyBot",
    "XING-contenttabreceiver",
)
"""A part of the user agent of each bot, as its operator documents it."""


@lru_cache(maxsize=4096)
def is_preview_bot(user_agent: str) -> bool:
    """Whether the user agent is that of a preview bot."""
    return any(bot in user_agent for bot in PREVIEW_BOTS)


def has_preview(link: Link) -> bool:
    """Whether the link has Open Graph fields."""
    return bool(link.og_title or link.og_description or link.og_image_url or link.og_video_url)


def preview_page(link: Link, target: str) -> bytes:
    """The Open Graph page, with a link to the target for people who see it."""
    title = escape(link.og_title or link.name)
    tags = "\n".join(_meta_tags(link))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="robots" content="noindex">
<title>{title}</title>
{tags}
</head>
<body><a href="{escape(target)}" rel="noreferrer">{title}</a></body>
</html>
""".encode()


def _meta_tags(link: Link) -> Iterator[str]:
    tags = {
        "og:type": "website",
        "og:title": link.og_title or link.name,
        "og:description": link.og_description,
        "og:image": link.og_image_url,
        "og:video": link.og_video_url,
        "twitter:card": "summary_large_image" if link.og_image_url else "summary",
    }
    for name, value in tags.items():
        if value:
            kind = "name" if name.startswith("twitter:") else "property"
            yield f'<meta {kind}="{name}" content="{escape(value)}">'
