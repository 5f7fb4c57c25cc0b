"""tidemark sign-in-link, and the address that `tidemark up` prints."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deploy.demo.first_start import create_demo
from deploy.local import sign_in_link
from query.app import create_app
from schemas.registry import RegistryStore
from schemas.runtime.settings import Settings
from tests.asgi_client import request_once
from tests.deploy.cli.command_result import Run
from tests.http_client import Reply
from tests.query.sign_in.browser import OWN_PAGE
from tests.registries import make_registry


def opened(folder: Path, link: str) -> Reply:
    """The answer to the page that opens this address, which posts its fragment."""
    settings = Settings(data_dir=str(folder))
    store = RegistryStore(settings.registry_url)
    service = create_app(settings, store)
    address, _, token = link.strip().partition("#")
    assert address.endswith("/sign-in")
    reply = request_once(service.app, "POST", "/v1/sign-in", {"token": token}, OWN_PAGE)
    service.close()
    store.close()
    return reply


@pytest.fixture
def key(ask: Callable[..., Any]) -> Any:
    owner = ask("organizations", "create", "--name", "Acme")["id"]
    return ask("keys", "create", "--organization", owner, "--scope", "read:data")


def test_a_link_signs_in_once_with_the_access_of_a_key(key: Any, run: Run, tmp_path: Path) -> None:
    link = run("sign-in-link", key["id"], "--url", "https://stats.example/").out

    assert link.startswith("https://stats.example/sign-in#link.")
    assert key["key"].split("_")[2] not in link
    reply = opened(tmp_path, link)
    assert (reply.status, reply.json["scopes"]) == (200, ["read:data"])
    assert opened(tmp_path, link).status == 401


@pytest.mark.parametrize(
    "url", ["ftp://x", "javascript:alert(1)", "stats.example", "https://", "https://h:x"]
)
def test_a_link_is_an_address_of_http(key: Any, run: Run, url: str) -> None:
    done = run("sign-in-link", key["id"], "--url", url)

    assert (done.code, done.out) == (2, "")
    assert "give an http or https URL" in done.err


def test_a_link_needs_an_active_key(
    key: Any, ask: Callable[..., Any], run: Run, tmp_path: Path
) -> None:
    assert "give the id of a key" in run("sign-in-link").err
    assert "no key 'nobody'" in run("sign-in-link", "nobody").err
    ask("keys", "update", key["id"], "--revoke")
    done = run("sign-in-link", key["id"])
    assert (done.code, "is revoked or has expired" in done.err) == (2, True)


def test_up_prints_a_link_of_the_demo_on_a_terminal_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(data_dir=str(tmp_path))
    make_registry(settings.registry_url)
    create_demo(settings)
    monkeypatch.setattr(sign_in_link, "PAGE_FOLDER", tmp_path)
    assert "overview and API page" in sign_in_link.address_to_open(settings, shows_link=True)

    (tmp_path / "index.html").write_text("<!doctype html>")

    assert "#" not in sign_in_link.address_to_open(settings, shows_link=False)
    link = sign_in_link.address_to_open(settings, shows_link=True).split()[-1]
    assert opened(tmp_path, link).json["organization"]["name"]
