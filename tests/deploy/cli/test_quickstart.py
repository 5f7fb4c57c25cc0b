"""tidemark quickstart: one command from a domain to a website, a key and a first query."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.cli.command_result import Run


def test_one_command_creates_organization_website_and_key(
    ask: Callable[..., Any], run: Run
) -> None:
    made = ask("quickstart", "Shop.example", "--timezone", "Asia/Kathmandu")

    [website] = ask("websites", "list")
    [key] = ask("keys", "list")
    assert (website["domain"], website["timezone"]) == ("shop.example", "Asia/Kathmandu")
    assert (key["websiteId"], key["scopes"]) == (website["id"], ["track:events", "read:data"])
    assert key["organizationId"] == website["organizationId"] == made["organizationId"]
    assert made["websiteId"] == website["id"]
    assert made["created"] is True
    assert f'data-website-id="{website["id"]}"' in made["script"]
    assert f"website_id={website['id']}' -H 'x-api-key: {made['key']}'" in made["query"]


def test_the_text_has_the_snippet_the_key_and_a_query(run: Run) -> None:
    done = run("quickstart", "shop.example", "--collect-url", "https://t.shop.example")

    assert done.code == 0
    assert re.search(r"^API key +tm_\w+ \(shown only now; keep it\)$", done.out, re.MULTILINE)
    assert '<script defer src="https://t.shop.example/tidemark.js"' in done.out
    assert "curl -s 'http://127.0.0.1:4001/v1/query?website_id=web_" in done.out


def test_a_second_time_nothing_is_created(ask: Callable[..., Any], run: Run) -> None:
    first = ask("quickstart", "shop.example")
    again = ask("quickstart", "shop.example")
    done = run("quickstart", "shop.example")

    assert (again["websiteId"], again["created"], again["key"]) == (first["websiteId"], False, None)
    assert len(ask("organizations", "list")) == 1
    assert "shop.example exists already" in done.out
    assert "tidemark keys create" in done.out
    assert "--scope track:events --scope read:data" in done.out


def test_nothing_is_stored_for_a_domain_or_zone_that_is_none(
    ask: Callable[..., Any], run: Run
) -> None:
    ask("organizations", "list")

    assert run("quickstart", "not a domain").code == 2
    assert run("quickstart", "shop.example", "--timezone", "Mars").code == 2
    assert ask("organizations", "list") == []


@pytest.mark.parametrize("arguments", [("",), ("not a domain",), ("a.example", "--timezone", "X")])
def test_a_refused_quickstart_creates_no_folder(
    run: Run, tmp_path: Path, arguments: Sequence[str]
) -> None:
    folder = tmp_path / "new"

    done = run("quickstart", *arguments, TIDEMARK_DATA_DIR=str(folder))

    assert (done.code, folder.exists()) == (2, False)
