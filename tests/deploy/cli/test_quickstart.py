"""tidemark quickstart: one command from a domain to a website, a key, a query, the dashboard."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from deploy.demo.first_start import create_demo
from deploy.local import sign_in_link
from schemas.registry.migrate import migrate
from schemas.runtime.settings import Settings
from tests.deploy.cli.command_result import Run
from tests.deploy.cli.test_sign_in_link import opened

SCOPES = [
    "track:events", "read:data", "read:links", "write:links", "write:records", "manage:websites",
    "erase:visitors", "admin",
]  # fmt: skip


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The dashboard is built."""
    (tmp_path / "index.html").write_text("<!doctype html>")
    monkeypatch.setattr(sign_in_link, "PAGE_FOLDER", tmp_path)


@pytest.mark.usefixtures("page")
def test_one_command_creates_organization_website_and_key(
    ask: Callable[..., Any], tmp_path: Path
) -> None:
    made = ask("quickstart", "https://Shop.example/de/?a=1#b", "--timezone", "Asia/Kathmandu")

    [website] = ask("websites", "list")
    [key] = ask("keys", "list")
    assert (website["domain"], website["timezone"]) == ("shop.example", "Asia/Kathmandu")
    assert (key["websiteId"], key["scopes"]) == (None, SCOPES)
    assert key["organizationId"] == website["organizationId"] == made["organizationId"]
    assert made["websiteId"] == website["id"]
    assert made["created"] is True
    assert f'data-website-id="{website["id"]}"' in made["script"]
    assert f"website_id={website['id']}' -H 'x-api-key: {made['key']}'" in made["query"]
    signed_in = opened(tmp_path, made["signInLink"]).json
    assert signed_in["organization"]["name"] == "shop.example"
    assert [one["id"] for one in signed_in["websites"]] == [website["id"]]


@pytest.mark.usefixtures("page")
def test_the_text_has_the_snippet_the_key_a_query_and_a_link(run: Run) -> None:
    done = run("quickstart", "shop.example", "--collect-url", "https://t.shop.example")

    assert done.code == 0
    assert re.search(r"^API key +tm_\w+ \(shown only now; ", done.out, re.MULTILINE)
    assert '<script defer src="https://t.shop.example/tidemark.js"' in done.out
    assert "curl -s 'http://127.0.0.1:4001/v1/query?website_id=web_" in done.out
    assert "\n  http://127.0.0.1:4001/sign-in#link." in done.out


@pytest.mark.usefixtures("page")
def test_the_website_belongs_to_the_organization_of_the_demo(
    ask: Callable[..., Any], run: Run, tmp_path: Path
) -> None:
    settings = Settings(data_dir=str(tmp_path))
    migrate(settings.registry_url)
    demo = create_demo(settings)

    shop = ask("quickstart", "shop.example")
    again = ask("quickstart", "http://shop.example")
    other = ask("quickstart", "shop.example", "--organization", "new")
    third = ask("quickstart", "b.example", "--organization", other["organizationId"])
    fourth = ask("quickstart", "c.example")

    assert shop["organizationId"] == fourth["organizationId"] == demo.organization_id
    assert (again["websiteId"], again["created"], again["key"]) == (shop["websiteId"], False, None)
    assert again["signInLink"]  # with the demo's key
    assert other["organizationId"] == third["organizationId"] != demo.organization_id
    assert len(ask("organizations", "list")) == 2
    assert {one["domain"] for one in opened(tmp_path, fourth["signInLink"]).json["websites"]} == {
        "demo.example", "shop.example", "c.example",
    }  # fmt: skip


def test_a_second_website_belongs_to_the_only_organization(
    ask: Callable[..., Any], run: Run
) -> None:
    first = ask("quickstart", "shop.example")
    done = run("quickstart", "shop.example")
    second = ask("quickstart", "b.example")
    ask("organizations", "create", "--name", "Other")
    unclear = run("quickstart", "c.example")

    assert second["organizationId"] == first["organizationId"]
    assert "shop.example exists already" in done.out
    assert f"keys create --organization {first['organizationId']} --scope admin" in done.out
    assert "tidemark sign-in-link KEY_ID" in done.out
    assert (unclear.code, "there are 2 organizations" in unclear.err) == (2, True)
    assert run("quickstart", "c.example", "--organization", "org_none").code == 2
    assert len(ask("websites", "list")) == 2


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
