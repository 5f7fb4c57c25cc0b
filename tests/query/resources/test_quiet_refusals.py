"""`?quiet=true`: refusals of forms have status 200; nothing else changes."""

import pytest

from tests.query.query_service import InProcessService
from tests.query.shared_dashboards import link_of, share
from tests.query.sign_in.browser import Browser

WRONG = {"key": "tm_a_b"}


def test_a_refused_sign_in_is_a_value(service: InProcessService) -> None:
    browser = Browser(service)
    loud = browser.ask("POST", "/v1/sign-in", WRONG)
    quiet = browser.ask("POST", "/v1/sign-in?quiet=true", WRONG)

    assert (loud.status, quiet.status) == (401, 200)
    assert quiet.json == {**loud.json, "status": 401}
    assert "set-cookie" not in quiet.headers
    assert quiet.headers["cache-control"] == "no-store"
    assert browser.ask("GET", "/v1/me").status == 401


def test_quiet_refusals_count_like_others(unused_service: InProcessService) -> None:
    browser = Browser(unused_service)
    urls = ["/v1/sign-in?quiet=true"] * 10 + ["/v1/sign-in"]

    assert [browser.ask("POST", url, WRONG).status for url in urls] == [200] * 10 + [429]
    assert browser.ask("POST", "/v1/sign-in?quiet=true", WRONG).status == 429


def test_a_right_key_signs_in(service: InProcessService) -> None:
    browser = Browser(service)

    reply = browser.ask("POST", "/v1/sign-in?quiet=true", {"key": service.keys["acme"]})

    assert (reply.status, reply.json["success"]) == (200, True)
    assert browser.ask("GET", "/v1/me").status == 200


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 401, "AUTH_REQUIRED"),
        ({"password": "wrong horse"}, 401, "AUTH_REQUIRED"),
        ({"link": "no-such-link"}, 404, "NOT_FOUND"),
    ],
)
def test_a_share_that_does_not_open_says_which_status_it_would_have(
    service: InProcessService, body: dict[str, str], status: int, code: str
) -> None:
    link = link_of(share(service, password="correct horse").share)
    asked = {"link": link, **body}

    quiet = Browser(service).ask("POST", "/v1/shares/open?quiet=true", asked)

    assert quiet.status == 200
    assert (quiet.json["success"], quiet.json["status"], quiet.json["code"]) == (
        False,
        status,
        code,
    )
    assert Browser(service).ask("POST", "/v1/shares/open", asked).status == status


def test_a_broken_request_stays_an_error(service: InProcessService) -> None:
    browser = Browser(service)

    assert browser.ask("POST", "/v1/sign-in?quiet=true", {}).status == 400
    reply = browser.ask("POST", "/v1/sign-in?quiet=yes", WRONG)
    assert (reply.status, reply.json["error"]) == (
        400,
        "'quiet' is 'yes'; it must be true or false",
    )
