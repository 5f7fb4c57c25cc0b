"""Alerts and channels over HTTP: what they must be, what is never shown, tests, history, state."""

import logging
from pathlib import Path
from typing import Any

import pytest

from query.resources.alert_state import shown_state
from query.resources.saved_types import BODIES, convert_body, new_record
from schemas.errors import Malformed
from schemas.registry import Alert, Channel, Report, SavedRecord, Website
from schemas.registry.channel_secrets import open_channel_field
from schemas.registry.notices import AlertState, NoticeEvent, Target, new_notice
from schemas.registry.validation import new_key
from tests.http_client import Reply
from tests.query.query_service import NOW, InProcessService, reused, start_service

SECRET = bytes(32)
SHOP = Website(
    id="shop", organization_id="acme", domain="shop.example", created_at=NOW, updated_at=NOW
)
ERRORS = {"metrics": ["errors"]}
BY_MESSAGE = {"metrics": ["errors"], "dimensions": ["message"]}
COUNT = {"field": "*", "aggregate": "count", "alias": "n"}
ABOVE: dict[str, Any] = {"name": "a", "condition": "above", "threshold": 1}
SLACK = {"name": "Chat", "kind": "slack", "address": "https://hooks.slack.com/services/T0/s3cret"}
TELEGRAM = {"name": "Bot", "kind": "telegram", "token": "123456:AAbb-s3cret_s3cret", "chat": "-1"}
NTFY = {"name": "Push", "kind": "ntfy", "address": "https://ntfy.sh/s3cret-topic"}
HOOK = {"name": "Hook", "kind": "webhook", "address": "https://hooks.shop.example/s3cret"}


def valid(kind: type[SavedRecord], /, **members: Any) -> Any:
    return new_record(kind, SHOP, convert_body(BODIES[kind].new, members), NOW, SECRET)


@pytest.mark.parametrize(
    ("members", "error"),
    [
        (
            {"condition": "above", "threshold": 1},
            "An alert has one of 'metricsQuery', 'customQuery', 'standardQuery' and 'signal'; only "
            "the condition 'nothing' may have none of them",
        ),
        (
            {**ABOVE, "metricsQuery": ERRORS, "signal": "freshness"},
            "An alert has one of 'metricsQuery', 'customQuery', 'standardQuery' and 'signal'; only "
            "the condition 'nothing' may have none of them",
        ),
        (
            {"condition": "spike", "signal": "freshness"},
            "'condition' of 'freshness' is above or below, not spike",
        ),
        (
            {"condition": "spike", "every": "quarter_hour", "metricsQuery": ERRORS},
            "'every' of the condition 'spike' is hour, day or week",
        ),
        (
            {"condition": "below", "metricsQuery": ERRORS},
            "'threshold' is missing: the number for 'below'",
        ),
        (
            {"condition": "rises", "threshold": 0, "metricsQuery": ERRORS},
            "'threshold' is 0.0; it is above 0 for 'rises'",
        ),
        (
            {"condition": "drop", "threshold": -3, "metricsQuery": ERRORS},
            "'threshold' is -3.0; it is above 0 for 'drop'",
        ),
        (
            {**ABOVE, "metricsQuery": ERRORS, "quietHours": "22:00-22:00"},
            "'quietHours' begin and end at one time; leave them out for none",
        ),
        (
            {**ABOVE, "metricsQuery": ERRORS, "mutedUntil": "tomorrow"},
            "'mutedUntil' is 'tomorrow'; use a date (YYYY-MM-DD) or an ISO 8601 instant with "
            "offset, such as 2026-11-05T14:00:00Z",
        ),
        (
            {**ABOVE, "metricsQuery": BY_MESSAGE},
            "The condition 'above' is about one number: leave dimensions out",
        ),
        (
            {"condition": "new", "metricsQuery": ERRORS},
            "The condition 'new' is about rows: give dimensions",
        ),
        (
            {"condition": "new", "customQuery": {"query": {"table": "errors", "selects": [COUNT]}}},
            "The condition 'new' is about rows: give dimensions",
        ),
        (
            {**ABOVE, "customQuery": {"query": {"table": "clicks", "selects": [COUNT]}}},
            "'customQuery.query.table' is 'clicks', which no alert watches",
        ),
        (
            {**ABOVE, "metricsQuery": {"metrics": ["erors"]}},
            "Unknown metric 'erors' in 'metrics[0]'; did you mean 'errors'?",
        ),
        (
            {**ABOVE, "metricsQuery": {**ERRORS, "asOf": {"events": 1}}},
            "'asOf' names versions that are kept for minutes; leave it out",
        ),
        (
            {**ABOVE, "standardQuery": {"parameters": ["summary", "error_types"]}},
            "'standardQuery.parameters' has one query type for an alert",
        ),
        (
            {**ABOVE, "metricsQuery": ERRORS, "recipients": ["a@shop.example", "nobody"]},
            "'recipients[1]' is 'nobody', which is no e-mail address",
        ),
        (
            {**ABOVE, "metricsQuery": ERRORS, "recipients": ["a@shop.example\r\nBcc: b@c.example"]},
            "'recipients[0]' is 'a@shop.example\r\nBcc: b@c.example', which is no e-mail address",
        ),
        (
            {**ABOVE, "metricsQuery": ERRORS, "recipients": ["a@shop.example, b@shop.example"]},
            "'recipients[0]' is 'a@shop.example, b@shop.example', which is no e-mail address",
        ),
        ({**ABOVE, "name": " ", "metricsQuery": ERRORS}, "'name' must have 1 to 255 characters"),
    ],
)
def test_an_alert_that_could_not_be_checked_is_refused(members: dict[str, Any], error: str) -> None:
    with pytest.raises(Malformed) as refusal:
        valid(Alert, **{"name": "a", **members})

    assert refusal.value.message == error


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"every": "minute"}, "every"),
        ({"condition": "equal"}, "condition"),
        ({"against": "month"}, "against"),
        ({"signal": "load"}, "signal"),
        ({"quietHours": "22-7"}, "quietHours"),
        ({"quietHours": "24:00-07:00"}, "quietHours"),
        ({"threshold": "ten"}, "threshold"),
        ({"recipients": [f"a{i}@shop.example" for i in range(21)]}, "recipients"),
        ({"channels": ["chan_1"] * 11}, "channels"),
        ({"createdBy": "me"}, "createdBy"),
        ({"state": "ok"}, "state"),
    ],
)
def test_a_refusal_names_the_field(members: dict[str, Any], field: str) -> None:
    with pytest.raises(Malformed, match=f"'{field}'"):
        valid(Alert, **{**ABOVE, "metricsQuery": ERRORS, **members})


def test_an_alert_has_a_normal_form() -> None:
    alert = valid(
        Alert,
        name=" Errors ",
        condition="nothing",
        column=" ",
        mutedUntil="2026-12-24T01:00:00+01:00",
        recipients=[" Ops@Shop.example", "ops@shop.example", "b@shop.example"],
        channels=["chan_2", "chan_1", "chan_2"],
    )

    assert (alert.name, alert.column, alert.muted_until) == (
        "Errors",
        None,
        "2026-12-24T00:00:00.000Z",
    )
    assert alert.recipients == ("ops@shop.example", "b@shop.example")
    assert alert.channels == ("chan_2", "chan_1")
    assert (alert.every, alert.against, alert.recovery) == ("hour", "previous", True)


@pytest.mark.parametrize(
    ("members", "error"),
    [
        (
            {"filters": [{"field": "contry", "operator": "eq", "value": "DE"}]},
            "Unknown column 'contry' in table 'events', at 'filters[0].field'; did you mean "
            "'country'?",
        ),
        ({"recipients": ["x"]}, "'recipients[0]' is 'x', which is no e-mail address"),
        ({"name": " "}, "'name' must have 1 to 255 characters"),
    ],
)
def test_a_report_that_could_not_be_made_is_refused(members: dict[str, Any], error: str) -> None:
    with pytest.raises(Malformed) as refusal:
        valid(Report, **{"name": "a", **members})

    assert refusal.value.message == error


@pytest.mark.parametrize(
    ("members", "error"),
    [
        ({"kind": "slack"}, "'address' is missing: the URL that takes the messages"),
        (
            {**TELEGRAM, "chat": None},
            "'token' and 'chat' are needed for telegram: the token of the bot, and the id of the "
            "chat that it writes to",
        ),
        (
            {**TELEGRAM, "token": "s3cret"},
            "'token' must be the token of a bot, as 123456:ABC-DEF… of @BotFather",
        ),
        (
            {**SLACK, "address": "ftp://s3cret.example/a"},
            "'address' must be a URL with a host, as https://hooks.shop.example/a",
        ),
        (
            {**SLACK, "address": "https://[s3cret"},
            "'address' must be a URL with a host, as https://hooks.shop.example/a",
        ),
        (
            {**SLACK, "address": "https://user:s3cret@hooks.example/a"},
            "'address' must not have a user name or password",
        ),
        (
            {**SLACK, "token": "s3cret"},
            "'token' is for channels of kind telegram and ntfy only; leave it out",
        ),
        (
            {**NTFY, "address": "https://ntfy.sh/"},
            "'address' must end with the topic, as https://ntfy.sh/my-topic",
        ),
        (
            {**NTFY, "token": "s3crét"},
            "'token' must be an access token of ntfy, as tk_…",
        ),
        ({**SLACK, "name": " "}, "'name' must have 1 to 255 characters"),
    ],
)
def test_a_channel_that_could_not_be_reached_is_refused(
    members: dict[str, Any], error: str
) -> None:
    with pytest.raises(Malformed) as refusal:
        valid(Channel, **{"name": "a", **members})

    assert refusal.value.message == error
    assert "s3cr" not in refusal.value.message


def test_telegram_has_an_address_of_its_own() -> None:
    channel = valid(Channel, **TELEGRAM)

    assert channel.host == "api.telegram.org"
    assert open_channel_field(channel.token, SECRET) == TELEGRAM["token"]
    assert TELEGRAM["token"] not in repr(channel)


@reused
def service(tmp_path: Path) -> InProcessService:
    return start_service(tmp_path)


def create(
    service: InProcessService,
    kind: str,
    website: str = "shop",
    /,
    key: str = "acme-admin",
    **body: Any,
) -> Reply:
    return service.ask("POST", f"/v1/{kind}", body, key=key, website_id=website)


def save(service: InProcessService, kind: str, website: str = "shop", /, **body: Any) -> str:
    """The id of a new record."""
    reply = create(service, kind, website, **body)
    assert reply.status == 201, reply.json
    return str(reply.json["data"]["id"])


def key_with(service: InProcessService, *scopes: str, website: str | None = None) -> str:
    """The name of a new key."""
    name = " ".join((*scopes, website or ""))
    key, text = new_key("acme", scopes, NOW, website_id=website, name=name)
    service.store.create(key)
    service.follower.refresh()
    service.keys = {**service.keys, name: text}
    return name


@pytest.mark.parametrize("body", [SLACK, TELEGRAM, NTFY, HOOK], ids=lambda body: body["kind"])
def test_address_and_token_are_shown_nowhere(
    service: InProcessService, body: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    made = create(service, "channels", **body)
    channel_id = made.json["data"]["id"]
    path = f"/v1/channels/{channel_id}"
    changed = {"address": "https://hooks.example/other-s3cret", "chat": body.get("chat")}
    if body["kind"] == "telegram":
        changed = {"token": "654321:other-s3cret_s3cret"}

    replies = [
        made,
        service.ask("GET", path, key="acme-admin"),
        service.ask("GET", "/v1/channels", key="acme-admin", website_id="shop"),
        service.ask("PATCH", path, changed, key="acme-admin"),
        service.ask("PATCH", path, {"address": "https://u:s3cret@b.example"}, key="acme-admin"),
        service.ask("POST", f"{path}/test", key="acme-admin"),
        service.ask("GET", "/v1/audit", key="acme-admin", record_id=channel_id),
        service.ask("DELETE", path, key="acme-admin"),
        service.ask("GET", "/v1/audit", key="acme-admin", record_id=channel_id),
    ]

    assert [reply.status for reply in replies] == [201, 200, 200, 200, 400, 200, 200, 200, 200]
    assert not any("s3cret" in reply.body.decode() for reply in replies)
    assert "s3cret" not in caplog.text
    shown = made.json["data"]
    assert {"address", "token", "signingSecret"}.isdisjoint(shown)
    assert ("secret" in shown) is (body["kind"] == "webhook")
    assert all("whsec_" not in reply.body.decode() for reply in replies[1:])
    stored = b"".join(file.read_bytes() for file in service.data.rglob("*.db*"))
    assert channel_id.encode() in stored
    assert b"s3cret" not in stored


def test_a_channel_shows_the_host_of_its_address(service: InProcessService) -> None:
    channel_id = save(service, "channels", **SLACK)

    changed = service.ask(
        "PATCH",
        f"/v1/channels/{channel_id}",
        {"address": "https://chat.shop.example/hooks/1"},
        key="acme-admin",
    )

    assert changed.json["data"]["host"] == "chat.shop.example"
    assert service.ask("GET", f"/v1/channels/{channel_id}", key="acme-admin").json["data"] == {
        "id": channel_id,
        "organizationId": "acme",
        "websiteId": "shop",
        "createdAt": "2026-11-30T00:53:20.000Z",
        "updatedAt": "2026-11-30T00:53:20.000Z",
        "name": "Chat",
        "kind": "slack",
        "chat": None,
        "host": "chat.shop.example",
    }


def test_a_channel_becomes_no_webhook(service: InProcessService) -> None:
    channel_id = save(service, "channels", **SLACK)

    reply = service.ask(
        "PATCH", f"/v1/channels/{channel_id}", {"kind": "webhook"}, key="acme-admin"
    )

    assert (reply.status, reply.json["error"]) == (
        400,
        "'kind' is 'slack' and cannot change; create another channel",
    )


@pytest.mark.parametrize(
    ("kind", "body", "field"),
    [
        ("alerts", {"name": "a", "condition": "nothing"}, "channels"),
        ("reports", {"name": "a"}, "channels"),
        ("reports", {"name": "a"}, "explorations"),
    ],
)
def test_records_of_another_website_are_refused(
    service: InProcessService, kind: str, body: dict[str, Any], field: str
) -> None:
    made: dict[str, dict[str, Any]] = {
        "channels": SLACK,
        "explorations": {"name": "e", "metricsQuery": ERRORS},
    }
    elsewhere = save(service, field, "blog", **made[field])
    here = save(service, field, "shop", **made[field])
    rule = f"'{field}[1]' is '{elsewhere}'; the website has none of this id"

    both: dict[str, Any] = {**body, field: [here, elsewhere]}
    refused = create(service, kind, **both)
    record = save(service, kind, **body, **{field: [here]})
    changed = service.ask(
        "PATCH", f"/v1/{kind}/{record}", {field: [here, elsewhere]}, key="acme-admin"
    )

    for reply in (refused, changed):
        assert (reply.status, reply.json["error"]) == (400, rule)


def test_a_test_of_an_alert_is_due_for_everybody_at_once(service: InProcessService) -> None:
    channel = save(service, "channels", **SLACK)
    alert = save(
        service,
        "alerts",
        name="a",
        condition="nothing",
        quietHours="00:00-23:59",
        mutedUntil="2027-01-01T00:00:00Z",
        recipients=["ops@shop.example"],
        channels=[channel],
    )

    reply = service.ask("POST", f"/v1/alerts/{alert}/test", key="acme-admin")

    notice, now = reply.json["data"], "2026-11-30T00:53:20.000Z"
    deliveries = sorted(notice.pop("deliveries"), key=lambda one: str(one["kind"]))
    waiting = {
        "state": "due", "dueAt": now, "attempts": 0, "triedAt": None, "deliveredAt": None,
        "problem": None,
    }  # fmt: skip
    assert deliveries == [
        {"to": "ops@shop.example", "kind": "email", **waiting},
        {"to": channel, "kind": "slack", **waiting},
    ]
    assert {**notice, "id": ""} == {
        "id": "", "event": "test", "start": now, "end": now, "value": None, "reference": None,
        "text": "", "createdAt": now,
    }  # fmt: skip
    [in_history] = service.ask("GET", f"/v1/alerts/{alert}/history", key="acme-admin").json["data"]
    assert in_history["id"] == notice["id"]


def test_an_alert_that_tells_nobody_has_no_test(service: InProcessService) -> None:
    channel = save(service, "channels", **SLACK)
    alert = save(service, "alerts", name="a", condition="nothing", channels=[channel])
    assert service.ask("DELETE", f"/v1/channels/{channel}", key="acme-admin").status == 200

    reply = service.ask("POST", f"/v1/alerts/{alert}/test", key="acme-admin")

    assert (reply.status, reply.json["code"], reply.json["error"]) == (
        409,
        "CONFLICT",
        "The alert has no recipients and no channels; add some, then retry",
    )


def test_a_channel_that_cannot_be_reached_says_why(service: InProcessService) -> None:
    channel = save(service, "channels", **{**SLACK, "address": "http://127.0.0.1:9/s3cret"})

    reply = service.ask("POST", f"/v1/channels/{channel}/test", key="acme-admin")

    assert reply.json["data"]["delivered"] is False
    assert "127.0.0.1" in reply.json["data"]["problem"]
    assert "s3cret" not in reply.json["data"]["problem"]


def test_who_only_reads_data_sees_no_addresses(service: InProcessService) -> None:
    alert = save(service, "alerts", name="a", condition="nothing", recipients=["ops@shop.example"])
    channel = save(service, "channels", **SLACK)
    viewer = key_with(service, "read:data")
    analyst = key_with(service, "read:data", "write:records")

    looks = [
        service.ask("GET", f"/v1/alerts/{alert}{part}", key=viewer).status
        for part in ("", "/history")
    ]
    tests = [
        service.ask("POST", f"/v1/{path}/test", key=key).status
        for key in (viewer, analyst)
        for path in (f"alerts/{alert}", f"channels/{channel}")
    ]

    assert (looks, tests) == ([403, 403], [403, 403, 200, 403])
    assert create(service, "alerts", key=viewer, name="b", condition="nothing").status == 403
    assert create(service, "alerts", key=analyst, name="b", condition="nothing").status == 201


def test_a_key_of_one_website_has_its_alerts_only(service: InProcessService) -> None:
    everybody: Any = {"name": "a", "condition": "nothing", "recipients": ["ops@shop.example"]}
    here, elsewhere = (
        save(service, "alerts", website, **everybody) for website in ("shop", "blog")
    )
    key = key_with(service, "read:data", "write:records", website="shop")

    statuses = {
        name: [
            service.ask("GET", f"/v1/alerts/{alert}", key=key).status,
            service.ask("GET", f"/v1/alerts/{alert}/history", key=key).status,
            service.ask("POST", f"/v1/alerts/{alert}/test", key=key).status,
        ]
        for name, alert in (("here", here), ("elsewhere", elsewhere))
    }

    assert statuses == {"here": [200, 200, 200], "elsewhere": [404, 404, 404]}
    assert create(service, "alerts", "blog", key=key, **everybody).status == 403


def test_history_has_numbers_rows_and_deliveries(service: InProcessService) -> None:
    alert = save(service, "alerts", name="a", condition="new", metricsQuery=BY_MESSAGE)
    content = {"value": 1.0, "reference": 0.0, "text": "1 new", "rows": [{"message": "a"}]}
    notice = new_notice(
        NoticeEvent.FIRED, "shop", (NOW - 3_600_000, NOW), NOW, alert_id=alert, content=content
    )
    notices = service.store.notices()
    notices.record_check(
        None, AlertState(alert, NOW, None, 1.0), notice, [Target("email", "a@b.example")], NOW
    )
    [delivery] = notices.deliveries_of(notice.id)
    claimed = notices.claim(delivery, NOW)
    assert claimed is not None
    notices.not_delivered(claimed, "451 later", NOW)

    history = service.ask("GET", f"/v1/alerts/{alert}/history", key="acme-admin", limit="5").json[
        "data"
    ]

    now = "2026-11-30T00:53:20.000Z"
    assert history == [
        {
            "id": notice.id,
            "event": "fired",
            "start": "2026-11-29T23:53:20.000Z",
            "end": now,
            "value": 1.0,
            "reference": 0.0,
            "text": "1 new",
            "createdAt": now,
            "rows": [{"message": "a"}],
            "deliveries": [
                {
                    "to": "a@b.example",
                    "kind": "email",
                    "state": "trying",
                    "dueAt": "2026-11-30T00:55:20.000Z",
                    "attempts": 1,
                    "triedAt": now,
                    "deliveredAt": None,
                    "problem": "451 later",
                }
            ],
        }
    ]
    for limit in ("0", "201", "x"):
        reply = service.ask("GET", f"/v1/alerts/{alert}/history", key="acme-admin", limit=limit)
        assert (reply.status, "'limit'" in reply.json["error"]) == (400, True)


def test_the_state_is_beside_each_alert(service: InProcessService) -> None:
    first, second = (save(service, "alerts", name=name, condition="nothing") for name in ("a", "b"))
    checked = AlertState(first, NOW - 60_000, NOW - 3_660_000, 14.0)
    service.store.notices().record_check(None, checked)

    shown = service.ask("GET", f"/v1/alerts/{first}", key="acme-admin").json["data"]
    listed = service.ask("GET", "/v1/alerts", key="acme-admin", website_id="shop").json["data"]

    assert shown["state"] == {
        "state": "firing",
        "value": 14.0,
        "checkedUntil": "2026-11-30T00:52:20.000Z",
        "since": "2026-11-29T23:52:20.000Z",
        "problem": None,
    }
    assert {alert["id"]: alert["state"]["state"] for alert in listed} == {
        first: "firing",
        second: "waiting",
    }
    assert shown in listed


@pytest.mark.parametrize(
    ("every", "age_minutes", "more", "name"),
    [
        ("hour", 124, {}, "ok"),
        ("hour", 126, {}, "waiting"),
        ("quarter_hour", 34, {}, "ok"),
        ("quarter_hour", 36, {}, "waiting"),
        ("day", 48 * 60, {}, "ok"),
        ("week", 14 * 24 * 60, {}, "ok"),
        ("hour", 126, {"firing_since": 1}, "firing"),
        ("hour", 1, {"firing_since": 1, "problem": "p"}, "problem"),
    ],
)
def test_states(every: str, age_minutes: int, more: dict[str, Any], name: str) -> None:
    alert = valid(Alert, name="a", condition="nothing", every=every)
    state = AlertState(alert.id, NOW - age_minutes * 60_000, **more)

    assert shown_state(alert, state, NOW).state == name
