"""Channels: how a message becomes a request to each product, and what its replies mean.

| kind | request | delivered |
|---|---|---|
| webhook | our JSON, signed by Standard Webhooks | 2xx |
| slack | an attachment with fields; Mattermost and Rocket.Chat take it too | 2xx |
| discord | an embed; no mention in it notifies anybody | 2xx |
| teams | an Adaptive Card, as the webhooks of Workflows take it | 2xx |
| telegram | `sendMessage` of plain text | 2xx and `"ok": true` |
| ntfy | JSON to the root of the server, with the topic of the address | 2xx |

Names of pages and events in a message come from visitors: they are sent where a product reads no
markup, or with its markup escaped.
"""

import base64
import hmac
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit

import msgspec
from msgspec import Struct

from query.notify.guarded_http import GuardedHttp, PostFailed, Reply
from query.notify.message import Fact, Message
from schemas.errors import Malformed
from schemas.runtime.clock import format_instant

TELEGRAM_ADDRESS = "https://api.telegram.org"
MAX_ADDRESS_LENGTH = 2048
MAX_RETRY_SECONDS = 86_400.0
SECRET_PREFIX = "whsec_"  # noqa: S105 - what a secret begins with

TITLE_LENGTH, SENTENCE_LENGTH, LABEL_LENGTH, VALUE_LENGTH, MAX_FACTS = 150, 1000, 80, 300, 10
"""Of a message in any product. Slack and Teams (28 KB) take more; Discord 256 characters of a
title, 256 of a label, 1024 of a value, 6000 in all; Telegram and ntfy cut once more."""
DISCORD_TITLE, DISCORD_LABEL, DISCORD_VALUE, DISCORD_SENTENCE = 256, 120, 300, 1200
TELEGRAM_LENGTH = 4096
NTFY_BYTES = 3000
"""A server turns messages of more than 4096 bytes into attachments."""

COLORS = {"fired": 0xC0392B, "recovered": 0x2E8B57, "test": 0x5B6B75, "report": 0x0F5C7A}
CARD_COLORS = {
    "fired": "Attention",
    "recovered": "Good",
    "test": "Default",
    "report": "Accent",
}
NTFY_TAGS = {
    "fired": "rotating_light",
    "recovered": "white_check_mark",
    "test": "test_tube",
    "report": "bar_chart",
}

_ADDRESS = re.compile(r"[\x21-\x7e]+")
_BOT_TOKEN = re.compile(r"[0-9]{1,20}:[A-Za-z0-9_-]{10,100}")
_CHAT = re.compile(r"-?[0-9]{1,20}|@[A-Za-z0-9_]{4,64}")
_TOPIC = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ACCESS_TOKEN = re.compile(r"[\x21-\x7e]{1,500}")
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
"""Of ASCII: all that is markup somewhere in Markdown, and may stand behind a backslash."""


class OpenedChannel(Struct, frozen=True):
    """A channel with its secrets, for sending. Absent texts are empty."""

    kind: str
    address: str = ""
    token: str = ""
    chat: str = ""
    signing_secret: str = ""
    """`whsec_` and base64."""

    def __repr__(self) -> str:
        return f"OpenedChannel({self.kind!r})"


class NotSent(Exception):
    """The message was not delivered; the text has no address, token or secret."""

    def __init__(
        self, problem: str, retry_after_seconds: float | None = None, refused: bool = False
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.retry_after_seconds = retry_after_seconds
        """What the receiver asked for, at most a day; None: it named no time."""
        self.refused = refused
        """Whether the same request would be refused again."""


class ChannelRequest(Struct, frozen=True):
    """What is posted: JSON to a URL."""

    url: str
    body: dict[str, Any]
    headers: Mapping[str, str] = {}

    def __repr__(self) -> str:
        return f"ChannelRequest({urlsplit(self.url).hostname!r})"


class Outgoing(Struct, frozen=True):
    """A message on its way to a channel."""

    channel: OpenedChannel
    message: Message
    delivery_id: str


class ChannelKind(Struct, frozen=True):
    """How messages reach one product."""

    name: str
    request: Callable[[Outgoing], ChannelRequest]
    hints: Mapping[int, str] = {}
    """What a status means for whoever made the channel."""
    retries_rejections: bool = False
    """Whether replies 4xx may be those of a receiver that is being repaired, except 410 (Gone)."""


async def send(
    opened: OpenedChannel, message: Message, delivery_id: str, now_ms: int, http: GuardedHttp
) -> None:
    """Return when the receiver has taken the message; NotSent.

    A delivery that is tried again has the same id, by which a webhook recognizes the repetition.
    """
    kind = KINDS[opened.kind]
    request = kind.request(Outgoing(opened, message, delivery_id))
    body = msgspec.json.encode(request.body)
    headers = {"Content-Type": "application/json", **request.headers}
    if opened.signing_secret:
        headers |= signature_headers(opened.signing_secret, delivery_id, now_ms // 1000, body)
    try:
        reply = await http.post(request.url, headers, body)
    except PostFailed as error:
        raise NotSent(error.problem, refused=error.refused) from None
    if not 200 <= reply.status < 300 or (opened.kind == "telegram" and not _is_ok(reply)):
        raise _not_sent(kind, channel_host(opened.kind, opened.address), reply)


def signature_headers(
    secret: str, delivery_id: str, timestamp: int, body: bytes
) -> Mapping[str, str]:
    """The headers of Standard Webhooks 1.0.0: HMAC-SHA256 of `id.timestamp.body`."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = f"{delivery_id}.{timestamp}.".encode() + body
    signature = base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    return {
        "webhook-id": delivery_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{signature}",
    }


def check_channel_address(kind: str, address: str, token: str, chat: str) -> None:
    """Check what a channel of that kind needs; Malformed names the field and the rule.

    Whether the address may be reached is decided when something is sent, as names move.
    """
    url = _checked_url(_address_of(kind, address))
    if kind == "telegram":
        if url.query or url.fragment:
            raise Malformed("'address' must be that of a Bot API server, as https://bots.example")
        if not _BOT_TOKEN.fullmatch(token):
            raise Malformed("'token' must be the token of a bot, as 123456:ABC-DEF… of @BotFather")
        if not _CHAT.fullmatch(chat):
            raise Malformed("'chat' must be the id of a chat, as -1001234567890, or @channelname")
    elif chat:
        raise Malformed("'chat' is for channels of kind telegram only; leave it out")
    if kind == "ntfy":
        if not _TOPIC.fullmatch(_topic_of(url)) or url.query:
            raise Malformed("'address' must end with the topic, as https://ntfy.sh/my-topic")
        if token and not _ACCESS_TOKEN.fullmatch(token):
            raise Malformed("'token' must be an access token of ntfy, as tk_…")
    elif token and kind != "telegram":
        raise Malformed("'token' is for channels of kind telegram and ntfy only; leave it out")


def channel_host(kind: str, address: str) -> str:
    """The host of a channel's address, which is no secret."""
    return urlsplit(_address_of(kind, address)).hostname or ""


def shortened(message: Message) -> Message:
    """The message within the limits of all products, its facts without empty texts."""
    facts = tuple(
        Fact(cut(fact.label, LABEL_LENGTH) or "–", cut(fact.value, VALUE_LENGTH) or "–")
        for fact in message.facts[:MAX_FACTS]
    )
    return msgspec.structs.replace(
        message,
        title=cut(message.title, TITLE_LENGTH),
        sentence=cut(message.sentence, SENTENCE_LENGTH),
        facts=facts,
    )


def cut(text: str, length: int) -> str:
    """The text in at most that many UTF-16 units, as the products count."""
    return _cut(text, 2 * length, "utf-16-le")


def _cut(text: str, size: int, encoding: str) -> str:
    encoded = text.encode(encoding)
    if len(encoded) <= size:
        return text
    room = size - len("…".encode(encoding))
    return encoded[:room].decode(encoding, "ignore") + "…"


def _webhook(outgoing: Outgoing) -> ChannelRequest:
    """Nothing is cut."""
    message, data = outgoing.message, dict(outgoing.message.data)
    body = {
        "type": data.pop("type", message.event),
        "id": outgoing.delivery_id,
        "occurredAt": format_instant(message.occurred_at),
        "website": message.website,
        "title": message.title,
        "sentence": message.sentence,
        "facts": [{"label": fact.label, "value": fact.value} for fact in message.facts],
        "link": message.link,
        "data": data,
    }
    return ChannelRequest(outgoing.channel.address, body)


def _slack(outgoing: Outgoing) -> ChannelRequest:
    """No text is `mrkdwn`; Mattermost and Rocket.Chat, which take the same, read Markdown."""
    message = shortened(outgoing.message)
    attachment = {
        "fallback": _slack_text(f"{message.title}: {message.sentence}"),
        "color": f"#{COLORS[message.event]:06x}",
        "title": _slack_text(message.title),
        "title_link": message.link,
        "text": _slack_text(message.sentence),
        "fields": [
            {
                "title": _slack_text(fact.label),
                "value": _slack_text(fact.value),
                "short": len(fact.value) <= 40,
            }
            for fact in message.facts
        ],
        "footer": _slack_text(f"Tidemark · {message.website}"),
        "ts": message.occurred_at // 1000,
        "mrkdwn_in": [],
    }
    return ChannelRequest(outgoing.channel.address, {"attachments": [attachment]})


def _slack_text(text: str) -> str:
    """Text without control characters, and without links of Markdown."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace("](", "]\u200b(")


def _discord(outgoing: Outgoing) -> ChannelRequest:
    """The link is in the text: as the URL of an embed, Discord refuses hosts without a domain.

    `wait` lets it reply after the message is stored.
    """
    message = shortened(outgoing.message)
    url = urlsplit(outgoing.channel.address)
    query = urlencode({**dict(parse_qsl(url.query)), "wait": "true"})
    open_link = f"[Open in Tidemark]({_in_markup(message.link)})"
    embed = {
        "title": _discord_text(message.title, DISCORD_TITLE),
        "description": f"{_discord_text(message.sentence, DISCORD_SENTENCE)}\n{open_link}",
        "color": COLORS[message.event],
        "timestamp": format_instant(message.occurred_at),
        "fields": [
            {
                "name": _discord_text(fact.label, DISCORD_LABEL),
                "value": _discord_text(fact.value, DISCORD_VALUE),
                "inline": len(fact.value) <= 40,
            }
            for fact in message.facts
        ],
    }
    return ChannelRequest(
        url._replace(query=query).geturl(),
        {"embeds": [embed], "allowed_mentions": {"parse": []}},
    )


def _discord_text(text: str, length: int) -> str:
    return cut(_PUNCTUATION.sub(r"\\\g<0>", text), length)


def _in_markup(link: str) -> str:
    """A URL that ends no link of Markdown."""
    return quote(link, safe="!#$%&'*+,-./:;=?@_~")


def _teams(outgoing: Outgoing) -> ChannelRequest:
    """Texts are runs of rich text: blocks of text and facts would be read as Markdown."""
    message = shortened(outgoing.message)
    facts = [
        _rich_text(_run(f"{fact.label}: ", isSubtle=True), _run(fact.value), spacing="None")
        for fact in message.facts
    ]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "fallbackText": message.title,
        "body": [
            _rich_text(_run(message.title, weight="Bolder", color=CARD_COLORS[message.event])),
            *([_rich_text(_run(message.sentence))] if message.sentence else []),
            *facts,
        ],
        "actions": [
            {
                "type": "Action.OpenUrl",
                "title": f"Open {cut(message.website, LABEL_LENGTH)}",
                "url": message.link,
            }
        ],
        "msteams": {"width": "Full"},
    }
    attachment = {
        "contentType": "application/vnd.microsoft.card.adaptive",
        "contentUrl": None,
        "content": card,
    }
    body = {"type": "message", "attachments": [attachment]}
    return ChannelRequest(outgoing.channel.address, body)


def _rich_text(*runs: dict[str, Any], **more: str) -> dict[str, Any]:
    return {"type": "RichTextBlock", "inlines": list(runs), **more}


def _run(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "TextRun", "text": text, **more}


def _telegram(outgoing: Outgoing) -> ChannelRequest:
    """Without a parse mode all is plain text; the title is bold by an entity."""
    channel, message = outgoing.channel, shortened(outgoing.message)
    end = f"\n\n{message.link}"
    text = cut(f"{message.title}\n{_plain(message)}", TELEGRAM_LENGTH - len(end)) + end
    title_length = len(message.title.encode("utf-16-le")) // 2
    body = {
        "chat_id": channel.chat,
        "text": text,
        "entities": [{"type": "bold", "offset": 0, "length": title_length}],
        "link_preview_options": {"is_disabled": True},
    }
    address = _address_of("telegram", channel.address).rstrip("/")
    return ChannelRequest(f"{address}/bot{channel.token}/sendMessage", body)


def _ntfy(outgoing: Outgoing) -> ChannelRequest:
    channel, message = outgoing.channel, shortened(outgoing.message)
    url = urlsplit(channel.address)
    topic = _topic_of(url)
    root = url._replace(path=url.path.rstrip("/").removesuffix(topic)).geturl()
    body = {
        "topic": topic,
        "title": message.title,
        "message": _cut(_plain(message), NTFY_BYTES, "utf-8"),
        "tags": [NTFY_TAGS[message.event]],
        "priority": 4 if message.event == "fired" else 3,
        "click": message.link,
    }
    headers = {"Authorization": f"Bearer {channel.token}"} if channel.token else {}
    return ChannelRequest(root, body, headers)


def _plain(message: Message) -> str:
    """Sentence and facts as lines."""
    facts = [f"{fact.label}: {fact.value}" for fact in message.facts]
    return "\n".join([*([message.sentence] if message.sentence else []), *facts])


KINDS: Mapping[str, ChannelKind] = {
    kind.name: kind
    for kind in (
        ChannelKind(
            "webhook",
            _webhook,
            {410: "the receiver wants no more"},
            retries_rejections=True,
        ),
        ChannelKind(
            "slack",
            _slack,
            {
                403: "the workspace forbids it",
                404: "the webhook or its channel was removed",
                410: "the channel is archived",
            },
        ),
        ChannelKind(
            "discord",
            _discord,
            {401: "the webhook was removed", 404: "the webhook was removed"},
        ),
        ChannelKind(
            "teams",
            _teams,
            {
                401: "the flow does not admit anyone who has the address",
                404: "the workflow was removed or switched off",
            },
        ),
        ChannelKind(
            "telegram",
            _telegram,
            {
                400: "there is no such chat for the bot",
                401: "the token is not valid",
                403: "the bot may not write to the chat",
                404: "the token is not valid",
            },
        ),
        ChannelKind(
            "ntfy",
            _ntfy,
            {401: "the token is not valid", 403: "the token may not publish to the topic"},
        ),
    )
}


def _not_sent(kind: ChannelKind, host: str, reply: Reply) -> NotSent:
    """What a reply means that is no delivery."""
    status = reply.status
    hint = kind.hints.get(status, "")
    if 300 <= status < 400:
        hint = "redirects are not followed: use the address to which it leads"
    is_late = status in (408, 425, 429) or status >= 500 or 200 <= status < 300
    is_repaired = kind.retries_rejections and 400 <= status < 500 and status != 410
    problem = f"{host} replied {status}" + (f": {hint}" if hint else "")
    if is_late or is_repaired:
        return NotSent(problem, _retry_after(reply))
    return NotSent(problem, refused=True)


def _is_ok(reply: Reply) -> bool:
    return _members(reply).get("ok") is True


def _retry_after(reply: Reply) -> float | None:
    """Seconds in the header, at the top of the body (Discord) or in its parameters (Telegram)."""
    body = _members(reply)
    parameters = body.get("parameters")
    of_parameters = parameters.get("retry_after") if isinstance(parameters, dict) else None
    for value in (body.get("retry_after"), of_parameters, reply.headers.get("retry-after")):
        try:
            seconds = float(value)  # type: ignore[arg-type]  # None and lists raise TypeError
        except (TypeError, ValueError):
            continue
        if seconds >= 0:
            return min(seconds, MAX_RETRY_SECONDS)
    return None


def _members(reply: Reply) -> dict[str, Any]:
    """The JSON object of a body, or an empty one."""
    try:
        return msgspec.json.decode(reply.body, type=dict[str, Any])
    except msgspec.DecodeError:
        return {}


def _checked_url(address: str) -> SplitResult:
    if len(address) > MAX_ADDRESS_LENGTH:
        raise Malformed(f"'address' is too long; use at most {MAX_ADDRESS_LENGTH:,} characters")
    if not _ADDRESS.fullmatch(address):
        raise Malformed("'address' must be a URL of ASCII characters without spaces")
    try:
        url = urlsplit(address)
        has_valid_port = url.port != 0
    except ValueError:
        has_valid_port = False
    if not has_valid_port or url.scheme not in ("https", "http") or not url.hostname:
        raise Malformed("'address' must be a URL with a host, as https://hooks.shop.example/a")
    if "@" in url.netloc:
        raise Malformed("'address' must not have a user name or password")
    return url


def _address_of(kind: str, address: str) -> str:
    return address or (TELEGRAM_ADDRESS if kind == "telegram" else "")


def _topic_of(url: SplitResult) -> str:
    return url.path.rstrip("/").rpartition("/")[2]
