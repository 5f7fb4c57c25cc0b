"""tidemark adopt: the alias that it registers, and what it says to change."""

import json
import re
from collections.abc import Callable
from typing import Any

from tests.deploy.cli.command_result import Run


def a_website(ask: Callable[..., Any]) -> str:
    owner = ask("organizations", "create", "--name", "Acme")["id"]
    website = ask("websites", "create", "--organization", owner, "--domain", "shop.example")
    return str(website["id"])


def test_an_alias_is_registered_once_and_the_setting_is_printed(
    ask: Callable[..., Any], run: Run
) -> None:
    website = a_website(ask)
    url = ("--collect-url", "https://t.example", "--no-wait")

    first = run("adopt", "segment", website, "--id", "wk1", *url)
    again = run("adopt", "segment", website, "--id", "wk1", *url)

    assert first.out == again.out
    assert first.out.splitlines() == [
        f"Segment: 'wk1' is an alias of the website {website}.",
        "Change in its trackers: browser: cdnURL 'https://t.example' and writeKey 'wk1'; "
        "servers: host 'https://t.example'",
    ]
    listed = json.loads(run("aliases", "list", "--json").out)
    assert [(one["product"], one["name"], one["websiteId"]) for one in listed] == [
        ("segment", "wk1", website)
    ]


def test_the_secret_of_a_drain_is_printed_and_is_the_same_again(
    ask: Callable[..., Any], run: Run
) -> None:
    website = a_website(ask)
    url = ("--collect-url", "https://t.example", "--no-wait")

    first = run("adopt", "vercel", website, "--id", "shop", *url).out.splitlines()
    again = run("adopt", "vercel", website, "--id", "shop", *url).out.splitlines()
    other = run("adopt", "vercel", website, "--id", "docs", *url).out.splitlines()

    assert first == again
    assert first[1] == (
        "Change in its trackers: a drain of Web Analytics to "
        "https://t.example/vercel/drain?website_id=shop&verify=CODE, with the code that Vercel "
        "shows there"
    )
    assert re.fullmatch("Its secret: [0-9a-f]{40}", first[2])
    assert other[2] != first[2]


def test_an_id_of_another_website_is_refused(ask: Callable[..., Any], run: Run) -> None:
    first, second = a_website(ask), a_website(ask)
    run("adopt", "matomo", first, "--id", "shop.example", "--no-wait")

    refused = run("adopt", "matomo", second, "--id", "shop.example", "--no-wait")

    assert refused.code == 2
    assert "this name is already taken" in refused.err


def test_history_opens_one_import_and_creates_a_key_for_the_website(
    ask: Callable[..., Any], run: Run
) -> None:
    website = a_website(ask)
    url = ("--collect-url", "https://t.example")

    first = run("adopt", "segment", website, "--history", *url)
    again = run("adopt", "segment", website, "--history", *url)

    [one] = json.loads(run("import", "list", "--website", website, "--json").out)
    assert (one["name"], one["product"], one["state"]) == ("segment history", "segment", "open")
    keys = [key for key in json.loads(run("keys", "list", "--json").out) if key["websiteId"]]
    assert [(key["websiteId"], key["scopes"]) for key in keys] == [
        (website, ["track:events"]),
        (website, ["track:events"]),
    ]
    lines = first.out.splitlines()
    assert lines[0] == f"Segment: history of the website {website} goes to import {one['id']}."
    assert lines[1].startswith("Set in the client that sends it: write key 'tm_")
    assert lines[1].endswith("', path '/v1/import' (POST https://t.example/v1/import)")
    assert lines[3] == f"When all is sent: tidemark import close {one['id']}"
    assert lines[4].strip() in {f"and: tidemark keys delete {key['id']}" for key in keys}
    assert lines[5] == f"To remove its rows: tidemark import undo {one['id']}"
    assert again.out.splitlines()[0] == lines[0]


def test_history_after_the_import_was_closed_goes_to_another(
    ask: Callable[..., Any], run: Run
) -> None:
    website = a_website(ask)
    run("adopt", "posthog", website, "--history")
    [first] = json.loads(run("import", "list", "--json").out)

    closed = ask("import", "close", first["id"])
    run("adopt", "posthog", website, "--history")

    assert closed["state"] == "done"
    states = [one["state"] for one in json.loads(run("import", "list", "--json").out)]
    assert states == ["done", "open"]


def test_history_of_products_whose_clients_send_none_is_refused(
    ask: Callable[..., Any], run: Run
) -> None:
    website = a_website(ask)

    refused = run("adopt", "plausible", website, "--history")
    both = run("adopt", "segment", website, "--history", "--id", "wk1")

    assert (refused.code, both.code) == (2, 2)
    assert "clients of Plausible send no history; `tidemark import` reads" in refused.err
    assert "--history takes --collect-url only" in both.err


def test_copies_for_the_old_server_are_an_address_of_the_alias(
    ask: Callable[..., Any], run: Run
) -> None:
    website = a_website(ask)
    run("adopt", "segment", website, "--id", "wk1", "--no-wait")

    adopted = run(
        "adopt", "segment", website, "--id", "wk1", "--no-wait", "--tee", "https://api.segment.io"
    )
    bad = run("adopt", "segment", website, "--id", "wk2", "--no-wait", "--tee", "ftp://x")

    [one] = json.loads(run("aliases", "list", "--json").out)
    assert one["teeUrl"] == "https://api.segment.io"
    line = "A copy of each request with it is sent to https://api.segment.io."
    assert line in adopted.out.splitlines()
    assert "'teeUrl'" in bad.err
    off = ask("aliases", "update", one["id"], "--tee-url", "")
    assert off["teeUrl"] is None
