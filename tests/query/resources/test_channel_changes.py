"""Changes of channels, and of alerts and reports that name what was deleted."""

from pathlib import Path
from typing import Any

import pytest

from query.notify.deliver import open_channel
from schemas.registry import Channel
from tests.query.query_service import InProcessService, reused, start_service

NTFY = {"kind": "ntfy", "address": "https://ntfy.sh/shop", "token": "tk_secret"}
TELEGRAM = {"kind": "telegram", "token": "123456:ABC-DEF1234ghIkl", "chat": "-100"}
SLACK = {"kind": "slack", "address": "https://hooks.slack.com/services/a"}


@reused
def service(tmp_path: Path) -> InProcessService:
    return start_service(tmp_path)


def save(service: InProcessService, records: str, /, **body: Any) -> str:
    """The id of a new saved record of the shop."""
    named = {"name": "one", **body}
    reply = service.ask("POST", f"/v1/{records}", named, key="acme-admin", website_id="shop")
    assert reply.status == 201, reply.json
    return str(reply.json["data"]["id"])


def change(service: InProcessService, path: str, **changes: Any) -> tuple[int, str]:
    """Status and error of a change."""
    reply = service.ask("PATCH", f"/v1/{path}", changes, key="acme-admin")
    return reply.status, reply.json.get("error", "")


@pytest.mark.parametrize("body", [NTFY, TELEGRAM])
def test_a_token_is_not_sent_to_an_address_that_was_given_without_it(
    service: InProcessService, body: dict[str, str]
) -> None:
    path = f"channels/{save(service, 'channels', **body)}"

    status, error = change(service, path, address="https://thief.example")

    assert (status, error) == (
        400,
        "'token' is missing: a new 'address' needs the token of the channel anew, or null",
    )
    assert change(service, path, name="two") == (200, "")


def test_an_address_and_its_token_are_changed_together(service: InProcessService) -> None:
    channel_id = save(service, "channels", **NTFY)

    assert change(
        service, f"channels/{channel_id}", address="https://ntfy.example/shop", token="tk_other"
    ) == (200, "")

    channel = service.store.get(Channel, channel_id)
    opened = open_channel(channel, service.dependencies.sign_ins.secret)
    assert (opened.address, opened.token) == ("https://ntfy.example/shop", "tk_other")
    address = {"address": "https://ntfy.example/public", "token": None}
    assert change(service, f"channels/{channel_id}", **address) == (200, "")


def test_muting_needs_no_channel_that_was_deleted(service: InProcessService) -> None:
    channel_id = save(service, "channels", **SLACK)
    alert_id = save(service, "alerts", condition="nothing", channels=[channel_id])
    assert service.ask("DELETE", f"/v1/channels/{channel_id}", key="acme-admin").status == 200

    muted = change(service, f"alerts/{alert_id}", mutedUntil="2027-01-01T00:00:00Z")

    assert muted == (200, "")


def test_pausing_needs_no_exploration_that_was_deleted(service: InProcessService) -> None:
    query = {"metrics": ["page_views"]}
    exploration_id = save(service, "explorations", metricsQuery=query)
    report_id = save(service, "reports", explorations=[exploration_id])
    path = f"/v1/explorations/{exploration_id}"
    assert service.ask("DELETE", path, key="acme-admin").status == 200

    assert change(service, f"reports/{report_id}", paused=True) == (200, "")
    assert change(service, f"reports/{report_id}", explorations=["exp_x"])[0] == 400


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"kind": "ntfy", "address": "https://ntfy.sh/"}, "address"),
        ({"kind": "ntfy", "address": "https://ntfy.sh/a?auth=b"}, "address"),
        ({**TELEGRAM, "token": "abc/../x"}, "token"),
        ({**TELEGRAM, "chat": "-1 drop"}, "chat"),
        ({**SLACK, "token": "a"}, "token"),
        ({**SLACK, "chat": "a"}, "chat"),
        ({**SLACK, "address": "https://bücher.example/"}, "address"),
    ],
)
def test_what_no_product_takes_is_refused_when_it_is_saved(
    service: InProcessService, body: dict[str, str], field: str
) -> None:
    named = {"name": "one", **body}
    reply = service.ask("POST", "/v1/channels", named, key="acme-admin", website_id="shop")

    assert reply.status == 400
    assert reply.json["error"].startswith(f"'{field}' ")


def test_a_channel_stays_one_of_its_kind(service: InProcessService) -> None:
    """A webhook that was something else would have no secret, and its requests no signature."""
    path = f"channels/{save(service, 'channels', **SLACK)}"

    assert change(service, path, kind="webhook") == (
        400,
        "'kind' is 'slack' and cannot change; create another channel",
    )
    assert change(service, path, kind="slack") == (200, "")
