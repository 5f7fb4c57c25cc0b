"""The script tag of a website, and whether events have arrived."""

from typing import Any

import pytest

from deploy.cli import main
from tests.query.lake import an_event
from tests.query.query_service import InProcessService

SHOP = "/v1/websites/shop"


def snippet(service: InProcessService, **query: str) -> Any:
    reply = service.ask("GET", f"{SHOP}/snippet", **query)
    assert reply.status == 200, reply.json
    return reply.json["data"]


def test_the_snippet_is_that_of_the_command_line(
    service: InProcessService,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("TIDEMARK_DATA_DIR", str(service.data))
    plain, more = snippet(service), snippet(service, scripts="errors,vitals", persist="true")

    main(("snippet", "shop"))
    assert capsys.readouterr().out.splitlines()[0] == plain["script"]
    main(("snippet", "shop", "--vitals", "--errors", "--persist"))
    assert capsys.readouterr().out.splitlines()[0] == more["script"]
    assert plain["collectUrl"] == "http://127.0.0.1:4000"


def test_the_collector_of_a_snippet_can_be_named(service: InProcessService) -> None:
    assert snippet(service, collect_url="https://t.shop.example/") == {
        "script": '<script defer src="https://t.shop.example/tidemark.js" '
        'data-website-id="shop"></script>',
        "collectUrl": "https://t.shop.example",
    }
    quoted = snippet(service, collect_url='https://t.example/"><script>')["script"]
    assert 'src="https://t.example/&quot;&gt;&lt;script&gt;/tidemark.js"' in quoted


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"collect_url": "ftp://a.example"}, "'ftp://a.example' is neither an http or https URL"),
        ({"scripts": "vital"}, "'scripts' has 'vital'; scripts are vitals, errors"),
        ({"persist": "yes"}, "'persist' must be true or false"),
        ({"website_id": "shop"}, "Unknown parameter 'website_id'"),
    ],
)
def test_an_error_names_the_parameter(
    service: InProcessService, query: dict[str, str], message: str
) -> None:
    reply = service.ask("GET", f"{SHOP}/snippet", **query)

    assert (reply.status, message in reply.json["error"]) == (400, True), reply.json


def status(service: InProcessService, website: str = "shop") -> Any:
    reply = service.ask("GET", f"/v1/websites/{website}/status")
    assert reply.status == 200, reply.json
    return reply.json["data"]


def test_a_website_waits_for_its_first_event(service: InProcessService) -> None:
    service.holds(an_event(website="blog"))

    assert status(service) == {
        "received": False,
        "events": 0,
        "botEvents": 0,
        "firstEventAt": None,
        "lastEventAt": None,
        "watermark": None,
        "lagSeconds": None,
        "keptFrom": {},
        "staleReason": status(service)["staleReason"],
    }


def test_an_event_has_arrived_also_of_a_bot(service: InProcessService) -> None:
    service.holds(an_event(at="2026-11-12T10:00:00Z", is_bot=True))
    bot = status(service)
    service.holds(
        an_event(at="2026-11-11T10:00:00Z"),
        an_event(at="2026-11-13T10:00:00.250Z"),
        an_event(website="blog", at="2026-11-14T10:00:00Z"),
    )

    names = ("received", "events", "botEvents", "firstEventAt", "lastEventAt")
    assert [bot[name] for name in names] == [
        True,
        1,
        1,
        "2026-11-12T10:00:00.000Z",
        "2026-11-12T10:00:00.000Z",
    ]
    assert [status(service)[name] for name in names] == [
        True,
        3,
        1,
        "2026-11-11T10:00:00.000Z",
        "2026-11-13T10:00:00.250Z",
    ]
