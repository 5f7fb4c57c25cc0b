"""Channels: what each product receives over HTTP, what its replies mean, and what is never told."""

import asyncio
import base64
import hashlib
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
from msgspec import structs

from query.notify.channels import (
    KINDS,
    NotSent,
    OpenedChannel,
    Outgoing,
    channel_host,
    check_channel_address,
    cut,
    send,
    shortened,
    signature_headers,
)
from query.notify.guarded_http import GuardedHttp
from query.notify.message import Fact, Message
from schemas.errors import Malformed
from schemas.runtime.networks import parse_networks
from tests.installation import ROOT
from tests.query.notify.receiver import OK, Received, json_reply, receiving

NOW = 1_796_115_600_000
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BOT_TOKEN = "123456:AAbb-s3cret_s3cret"
LINK = "https://stats.shop.example/shop.example/errors?name=a(b)&from=2026-12-01"
MESSAGE = Message(
    event="fired",
    title="Errors above 10 on shop.example",
    sentence="14 errors from 09:00 to 10:00; the bound is 10.",
    facts=(Fact("Page", "/a_b?<c>&[x](https://evil.example)"), Fact("Größe", "14 µs")),
    link=LINK,
    website="shop.example",
    data={"type": "alert.fired", "alertId": "alr_1", "value": 14, "rows": [{"path": "/a"}]},
    occurred_at=1_796_115_599_123,
)
GUARDED = GuardedHttp(parse_networks("127.0.0.0/8"))


def channel(kind: str, url: str, **more: str) -> OpenedChannel:
    if kind == "webhook":
        more["signing_secret"] = SECRET
    if kind == "telegram":
        more |= {"token": BOT_TOKEN, "chat": "-1001234"}
    paths = {"telegram": "", "ntfy": "/shop-alerts"}
    return OpenedChannel(kind, url + paths.get(kind, "/services/s3cret"), **more)


def sent(kind: str, message: Message = MESSAGE, reply: bytes | None = OK, **more: str) -> Received:
    """What a receiver of that kind is sent."""

    async def scenario() -> Received:
        answer = json_reply("200 OK", {"ok": True}) if kind == "telegram" else reply
        async with receiving(answer) as receiver:
            await send(channel(kind, receiver.url, **more), message, "dlv_1", NOW, GUARDED)
            [request] = receiver.requests
            return request

    return asyncio.run(scenario())


def failure(kind: str, reply: bytes) -> NotSent:
    async def scenario() -> NotSent:
        async with receiving(reply) as receiver:
            with pytest.raises(NotSent) as raised:
                await send(channel(kind, receiver.url), MESSAGE, "dlv_1", NOW, GUARDED)
            return raised.value

    error = asyncio.run(scenario())
    assert "s3cret" not in error.problem
    return error


def hmac_sha256(key: bytes, content: bytes) -> bytes:
    """RFC 2104, written out."""
    block = key.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block) + content).digest()
    return hashlib.sha256(bytes(byte ^ 0x5C for byte in block) + inner).digest()


def test_a_webhook_receives_the_whole_message() -> None:
    request = sent("webhook")

    assert request.line == "POST /services/s3cret HTTP/1.1"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["user-agent"] == "Tidemark"
    assert request.json == {
        "type": "alert.fired",
        "id": "dlv_1",
        "occurredAt": "2026-12-01T08:59:59.123Z",
        "website": "shop.example",
        "title": "Errors above 10 on shop.example",
        "sentence": "14 errors from 09:00 to 10:00; the bound is 10.",
        "facts": [
            {"label": "Page", "value": "/a_b?<c>&[x](https://evil.example)"},
            {"label": "Größe", "value": "14 µs"},
        ],
        "link": LINK,
        "data": {"alertId": "alr_1", "value": 14, "rows": [{"path": "/a"}]},
    }


def test_a_webhook_is_signed_over_id_time_and_body() -> None:
    request = sent("webhook")

    assert request.headers["webhook-id"] == "dlv_1"
    assert request.headers["webhook-timestamp"] == "1796115600"
    version, _, signature = request.headers["webhook-signature"].partition(",")
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    content = b"dlv_1.1796115600." + request.body
    assert (version, base64.b64decode(signature)) == ("v1", hmac_sha256(key, content))


def test_the_documented_verification_accepts_what_is_sent_and_nothing_else() -> None:
    document = (ROOT / "query" / "REFERENCE.md").read_text(encoding="utf-8")
    section = document.partition("## What channels send")[2]
    example = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert example is not None
    names: dict[str, Any] = {}
    exec(example[1], names)
    verify = partial(names["is_from_tidemark"], now=NOW / 1000 + 60)
    request = sent("webhook")

    assert verify(SECRET, request.headers, request.body)
    assert not verify(SECRET, request.headers, request.body, now=NOW / 1000 + 600)
    assert not verify(SECRET, request.headers, request.body + b" ")
    assert not verify(SECRET, {**request.headers, "webhook-id": "dlv_2"}, request.body)
    assert not verify("whsec_" + "A" * 32, request.headers, request.body)


def test_the_signature_is_that_of_the_published_example() -> None:
    headers = signature_headers(
        SECRET, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
    )

    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_delivery_that_is_tried_again_has_the_same_id_and_body() -> None:
    async def scenario() -> list[Received]:
        async with receiving() as receiver:
            for now_ms in (NOW, NOW + 60_000):
                opened = channel("webhook", receiver.url)
                await send(opened, MESSAGE, "dlv_1", now_ms, GUARDED)
            return receiver.requests

    first, second = asyncio.run(scenario())

    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body
    assert first.headers["webhook-signature"] != second.headers["webhook-signature"]


def test_slack_receives_an_attachment_without_markup() -> None:
    request = sent("slack")

    assert "webhook-signature" not in request.headers
    assert request.json == {
        "attachments": [
            {
                "fallback": "Errors above 10 on shop.example: "
                "14 errors from 09:00 to 10:00; the bound is 10.",
                "color": "#c0392b",
                "title": "Errors above 10 on shop.example",
                "title_link": LINK,
                "text": "14 errors from 09:00 to 10:00; the bound is 10.",
                "fields": [
                    {
                        "title": "Page",
                        "value": "/a_b?&lt;c&gt;&amp;[x]\u200b(https://evil.example)",
                        "short": True,
                    },
                    {"title": "Größe", "value": "14 µs", "short": True},
                ],
                "footer": "Tidemark · shop.example",
                "ts": 1_796_115_599,
                "mrkdwn_in": [],
            }
        ]
    }


def test_discord_receives_an_embed_that_mentions_nobody() -> None:
    request = sent(
        "discord", structs.replace(MESSAGE, title="@everyone *now* 🔥…", event="recovered")
    )

    assert request.line == "POST /services/s3cret?wait=true HTTP/1.1"
    assert request.json == {
        "embeds": [
            {
                "title": r"\@everyone \*now\* 🔥…",
                "description": r"14 errors from 09\:00 to 10\:00\; the bound is 10\."
                "\n[Open in Tidemark](https://stats.shop.example/shop.example/errors"
                "?name=a%28b%29&from=2026-12-01)",
                "color": 0x2E8B57,
                "timestamp": "2026-12-01T08:59:59.123Z",
                "fields": [
                    {
                        "name": "Page",
                        "value": r"\/a\_b\?\<c\>\&\[x\]\(https\:\/\/evil\.example\)",
                        "inline": True,
                    },
                    {"name": "Größe", "value": "14 µs", "inline": True},
                ],
            }
        ],
        "allowed_mentions": {"parse": []},
    }


def test_discord_threads_are_kept() -> None:
    opened = OpenedChannel("discord", "https://discord.com/api/webhooks/1/x?thread_id=7")
    request = KINDS["discord"].request(_outgoing(opened))

    assert request.url == "https://discord.com/api/webhooks/1/x?thread_id=7&wait=true"


def test_teams_receives_an_adaptive_card_of_plain_runs() -> None:
    request = sent("teams")

    assert request.json == {
        "type": "message",
        "attachments": [
            {
                "contentType": "application/vnd.microsoft.card.adaptive",
                "contentUrl": None,
                "content": {
                    "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                    "type": "AdaptiveCard",
                    "version": "1.4",
                    "fallbackText": "Errors above 10 on shop.example",
                    "body": [
                        _block(
                            {
                                "text": "Errors above 10 on shop.example",
                                "weight": "Bolder",
                                "color": "Attention",
                            }
                        ),
                        _block({"text": "14 errors from 09:00 to 10:00; the bound is 10."}),
                        _block(
                            {"text": "Page: ", "isSubtle": True},
                            {"text": "/a_b?<c>&[x](https://evil.example)"},
                            spacing="None",
                        ),
                        _block(
                            {"text": "Größe: ", "isSubtle": True},
                            {"text": "14 µs"},
                            spacing="None",
                        ),
                    ],
                    "actions": [
                        {"type": "Action.OpenUrl", "title": "Open shop.example", "url": LINK}
                    ],
                    "msteams": {"width": "Full"},
                },
            }
        ],
    }


def _block(*runs: Mapping[str, Any], **more: str) -> dict[str, Any]:
    inlines = [{"type": "TextRun", **run} for run in runs]
    return {"type": "RichTextBlock", "inlines": inlines, **more}


def test_telegram_receives_plain_text_with_a_bold_title() -> None:
    request = sent("telegram", structs.replace(MESSAGE, title="🔥 Errors"))

    assert request.line == f"POST /bot{BOT_TOKEN}/sendMessage HTTP/1.1"
    assert request.json == {
        "chat_id": "-1001234",
        "text": "🔥 Errors\n"
        "14 errors from 09:00 to 10:00; the bound is 10.\n"
        "Page: /a_b?<c>&[x](https://evil.example)\n"
        "Größe: 14 µs\n\n"
        f"{LINK}",
        "entities": [{"type": "bold", "offset": 0, "length": 9}],
        "link_preview_options": {"is_disabled": True},
    }


def test_ntfy_receives_json_at_its_root_with_the_topic_of_the_address() -> None:
    request = sent("ntfy", token="tk_s3cret")

    assert request.line == "POST / HTTP/1.1"
    assert request.headers["authorization"] == "Bearer tk_s3cret"
    assert request.json == {
        "topic": "shop-alerts",
        "title": "Errors above 10 on shop.example",
        "message": "14 errors from 09:00 to 10:00; the bound is 10.\n"
        "Page: /a_b?<c>&[x](https://evil.example)\n"
        "Größe: 14 µs",
        "tags": ["rotating_light"],
        "priority": 4,
        "click": LINK,
    }


@pytest.mark.parametrize("address", ["https://ntfy.example/push/a", "https://ntfy.example/push/a/"])
def test_ntfy_behind_a_path_is_reached_there(address: str) -> None:
    request = KINDS["ntfy"].request(_outgoing(OpenedChannel("ntfy", address)))

    assert (request.url, request.body["topic"]) == ("https://ntfy.example/push/", "a")
    assert request.headers == {}


def test_telegram_is_reached_at_its_own_address_unless_another_is_given() -> None:
    opened = OpenedChannel("telegram", token=BOT_TOKEN, chat="@shop")

    request = KINDS["telegram"].request(_outgoing(opened))

    assert request.url == f"https://api.telegram.org/bot{BOT_TOKEN}/sendMessage"
    assert channel_host("telegram", "") == "api.telegram.org"


def _outgoing(opened: OpenedChannel) -> Outgoing:
    return Outgoing(opened, MESSAGE, "dlv_1")


LONG = structs.replace(
    MESSAGE,
    title="🔥*" * 300,
    sentence="ß(" * 3000,
    facts=tuple(Fact("_l" * 200, "\"'" * 900) for _ in range(30)),
    event="report",
)


def test_long_texts_are_cut_to_what_products_take() -> None:
    def body(kind: str) -> Any:
        return sent(kind, LONG).json

    [embed] = body("discord")["embeds"]
    texts = [embed["title"], embed["description"]]
    texts += [text for field in embed["fields"] for text in (field["name"], field["value"])]
    assert max(map(_units, texts[2::2])) <= 256
    assert max(map(_units, texts[3::2])) <= 1024
    assert _units(embed["title"]) <= 256
    assert sum(map(_units, texts)) <= 6000
    assert len(embed["fields"]) == 10
    assert len(sent("teams", LONG).body) < 28_000
    telegram = body("telegram")["text"]
    assert _units(telegram) <= 4096
    assert telegram.endswith(f"…\n\n{LINK}")
    ntfy = body("ntfy")
    assert len(ntfy["message"].encode()) <= 4096
    assert len(ntfy["title"].encode()) <= 1024
    [attachment] = body("slack")["attachments"]
    assert _units(attachment["title"]) == 150
    assert len(body("webhook")["facts"]) == 30


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@pytest.mark.parametrize(
    ("text", "length", "short"),
    [("abcd", 4, "abcd"), ("abcde", 4, "abc…"), ("ab🔥c", 5, "ab🔥c"), ("ab🔥cd", 4, "ab…")],
)
def test_a_text_is_cut_between_characters(text: str, length: int, short: str) -> None:
    assert cut(text, length) == short


def test_facts_without_texts_have_a_dash() -> None:
    message = shortened(structs.replace(MESSAGE, facts=(Fact("", ""),)))

    assert message.facts == (Fact("–", "–"),)


def reply(status: str, *headers: str) -> bytes:
    return "\r\n".join((f"HTTP/1.1 {status}", "content-length: 0", *headers, "", "")).encode()


@pytest.mark.parametrize("status", ["200 OK", "201 Created", "202 Accepted", "204 No Content"])
@pytest.mark.parametrize("kind", ["webhook", "slack", "discord", "teams", "ntfy"])
def test_replies_of_success_are_deliveries(kind: str, status: str) -> None:
    sent(kind, reply=reply(status))


@pytest.mark.parametrize(
    ("kind", "answer", "problem", "retry_after", "refused"),
    [
        ("webhook", reply("500 Oops"), "500", None, False),
        ("webhook", reply("503 Busy", "Retry-After: 120"), "503", 120.0, False),
        ("webhook", reply("503 Busy", "Retry-After: 9999999"), "503", 86_400.0, False),
        ("webhook", reply("503 Busy", "Retry-After: tomorrow"), "503", None, False),
        ("webhook", reply("503 Busy", "Retry-After: -5"), "503", None, False),
        ("webhook", reply("404 Not Found"), "404", None, False),
        ("webhook", reply("410 Gone"), "410: the receiver wants no more", None, True),
        (
            "webhook",
            reply("308 Permanent Redirect", "location: https://a.example/"),
            "308: redirects are not followed: use the address to which it leads",
            None,
            True,
        ),
        ("slack", reply("429 Slow down", "Retry-After: 30"), "429", 30.0, False),
        ("slack", reply("400 invalid_payload"), "400", None, True),
        (
            "slack",
            reply("404 no_service"),
            "404: the webhook or its channel was removed",
            None,
            True,
        ),
        ("slack", reply("410 Gone"), "410: the channel is archived", None, True),
        (
            "discord",
            json_reply("429 Too Many Requests", {"retry_after": 1.337, "global": False}),
            "429",
            1.337,
            False,
        ),
        ("discord", reply("404 Not Found"), "404: the webhook was removed", None, True),
        ("teams", reply("502 Bad Gateway"), "502", None, False),
        (
            "telegram",
            json_reply("429 Too Many Requests", {"ok": False, "parameters": {"retry_after": 35}}),
            "429",
            35.0,
            False,
        ),
        (
            "telegram",
            json_reply("400 Bad Request", {"ok": False, "description": "chat not found s3cret"}),
            "400: there is no such chat for the bot",
            None,
            True,
        ),
        ("telegram", json_reply("200 OK", {"ok": False}), "200", None, False),
        ("telegram", OK, "200", None, False),
        ("ntfy", reply("403 Forbidden"), "403: the token may not publish to the topic", None, True),
        ("ntfy", reply("507 Insufficient Storage"), "507", None, False),
    ],
)
def test_other_replies_say_whether_to_try_again(
    kind: str, answer: bytes, problem: str, retry_after: float | None, refused: bool
) -> None:
    error = failure(kind, answer)

    assert (error.problem, error.retry_after_seconds, error.refused) == (
        f"127.0.0.1 replied {problem}",
        retry_after,
        refused,
    )


def test_an_address_that_may_not_be_reached_is_a_problem_without_it() -> None:
    opened = OpenedChannel("slack", "https://10.0.0.5/services/s3cret")

    with pytest.raises(NotSent) as raised:
        asyncio.run(send(opened, MESSAGE, "dlv_1", NOW, GuardedHttp()))

    assert raised.value.refused
    assert raised.value.problem.startswith("10.0.0.5 has the address of a private network")
    assert "s3cret" not in raised.value.problem


def test_a_channel_is_not_shown_with_its_secrets() -> None:
    opened = OpenedChannel("telegram", "https://s3cret/", "s3cret", "s3cret", "s3cret")

    assert repr(opened) == "OpenedChannel('telegram')"
    hook = structs.replace(opened, address="https://hooks.shop.example/s3cret")
    assert "s3cret" not in repr(KINDS["telegram"].request(_outgoing(hook)))


HOOK = "https://hooks.shop.example/a"


@pytest.mark.parametrize(
    ("kind", "address", "token", "chat"),
    [
        ("webhook", HOOK, "", ""),
        ("webhook", "http://10.0.0.5:8080/a?b=c", "", ""),
        ("slack", "https://hooks.slack.com/services/T0/B0/x", "", ""),
        ("discord", "https://discord.com/api/webhooks/1/x?thread_id=2", "", ""),
        ("teams", "https://prod-1.westeurope.logic.azure.com:443/workflows/a?sig=b", "", ""),
        ("telegram", "", BOT_TOKEN, "-1001234567890"),
        ("telegram", "http://10.0.0.5:8081", BOT_TOKEN, "@shop_alerts"),
        ("ntfy", "https://ntfy.sh/shop-alerts", "", ""),
        ("ntfy", "https://ntfy.sh/shop-alerts", "tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2", ""),
    ],
)
def test_addresses_that_a_kind_takes(kind: str, address: str, token: str, chat: str) -> None:
    check_channel_address(kind, address, token, chat)


@pytest.mark.parametrize(
    ("kind", "address", "token", "chat", "field"),
    [
        ("webhook", "", "", "", "address"),
        ("webhook", "hooks.shop.example/a", "", "", "address"),
        ("webhook", "ftp://hooks.shop.example/a", "", "", "address"),
        ("webhook", "https:///a", "", "", "address"),
        ("webhook", "https://ann:pw@hooks.shop.example/a", "", "", "address"),
        ("webhook", "https://hooks.shop.example:0/a", "", "", "address"),
        ("webhook", "https://hooks.shop.example:99999/a", "", "", "address"),
        ("webhook", "https://[::1/a", "", "", "address"),
        ("webhook", f"{HOOK}\r\nHost: evil.example", "", "", "address"),
        ("webhook", "https://hooks.shop.example/ä", "", "", "address"),
        ("webhook", HOOK + "a" * 2048, "", "", "address"),
        ("webhook", HOOK, "tk_1", "", "token"),
        ("slack", HOOK, "", "5", "chat"),
        ("telegram", "https://bots.example/?a=", BOT_TOKEN, "5", "address"),
        ("telegram", "", "", "5", "token"),
        ("telegram", "", "123456:../../evil?x", "5", "token"),
        ("telegram", "", BOT_TOKEN, "", "chat"),
        ("telegram", "", BOT_TOKEN, "shop", "chat"),
        ("ntfy", "https://ntfy.sh/", "", "", "address"),
        ("ntfy", "https://ntfy.sh/a.b", "", "", "address"),
        ("ntfy", "https://ntfy.sh/a?auth=x", "", "", "address"),
        ("ntfy", "https://ntfy.sh/a", "tk\r\nX: y", "", "token"),
        ("ntfy", "https://ntfy.sh/a", "tök", "", "token"),
    ],
)
def test_an_error_names_the_field_that_a_kind_does_not_take(
    kind: str, address: str, token: str, chat: str, field: str
) -> None:
    with pytest.raises(Malformed, match=f"^'{field}' "):
        check_channel_address(kind, address, token, chat)
