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
