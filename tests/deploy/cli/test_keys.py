"""tidemark keys: create, rotate, revoke; where commands read a key from."""

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

from msgspec import structs

from deploy.cli.context import KEY_ADVICE
from deploy.demo.demo_file import read_demo
from deploy.demo.first_start import create_demo
from schemas.registry import Key, RegistryStore, Snapshot
from schemas.runtime.clock import parse_instant_ms
from schemas.runtime.settings import Settings
from tests.deploy.cli.command_result import Run
from tests.registries import make_registry


def test_a_key_is_rotated_and_the_old_one_works_for_a_while(
    ask: Callable[..., Any], run: Run, tmp_path: Path
) -> None:
    owner = ask("organizations", "create", "--name", "Acme")["id"]
    website = ask("websites", "create", "--organization", owner, "--domain", "shop.example")["id"]
    old = ask(
        "keys", "create", "--organization", owner, "--website", website,
        "--scope", "read:data", "--name", "Server",
    )  # fmt: skip

    new = ask("keys", "rotate", old["id"], "--overlap-hours", "2")

    at, end = parse_instant_ms(new["createdAt"]), parse_instant_ms(new["replacedEndsAt"])
    store = RegistryStore(Settings(data_dir=str(tmp_path)).registry_url)
    known = Snapshot.read(store)
    store.close()
    assert end == at + 2 * 3_600_000
    assert (known.find_key(old["key"], end - 1) is None, known.find_key(old["key"], end)) == (
        False,
        None,
    )
    assert known.find_key(new["key"], end) is not None
    same = ("organizationId", "websiteId", "name", "scopes")
    assert (new["replaces"], [new[one] for one in same]) == (old["id"], [old[one] for one in same])
    assert [one["action"] for one in ask("audit", "--limit", "2")] == ["update", "create"]
    ask("keys", "update", old["id"], "--revoke")
    assert run("keys", "rotate", old["id"]).code == 2


def test_commands_go_on_with_the_demo_whose_key_was_rotated(
    ask: Callable[..., Any], tmp_path: Path
) -> None:
    settings = Settings(data_dir=str(tmp_path))
    make_registry(settings.registry_url)
    demo = create_demo(settings)
    [key] = ask("keys", "list")
    other = ask("keys", "create", "--organization", demo.organization_id, "--scope", "read:data")

    new = ask("keys", "rotate", key["id"])
    ask("keys", "rotate", other["id"])

    assert read_demo(tmp_path) == structs.replace(demo, api_key=new["key"])
    assert (tmp_path / "demo.json").stat().st_mode & 0o777 == 0o600


def test_the_text_of_a_key_is_shown_once(ask: Callable[..., Any], tmp_path: Path) -> None:
    owner = ask("organizations", "create", "--name", "Acme")["id"]
    website = ask("websites", "create", "--organization", owner, "--domain", "shop.example")["id"]
    created = ask(
        "keys", "create", "--organization", owner, "--website", website,
        "--scope", "track:events", "--scope", "read:data", "--name", "Server",
    )  # fmt: skip
    text = created.pop("key")
    store = RegistryStore(Settings(data_dir=str(tmp_path)).registry_url)
    known = Snapshot.read(store).find_key(text, parse_instant_ms(created["createdAt"]))

    assert created == {
        "id": created["id"],
        "organizationId": owner,
        "websiteId": website,
        "personId": None,
        "name": "Server",
        "scopes": ["track:events", "read:data"],
        "expiresAt": None,
        "revokedAt": None,
        "lastUsedAt": None,
        "createdAt": created["createdAt"],
        "updatedAt": created["createdAt"],
    }
    assert known == store.get(Key, created["id"])
    assert ask("keys", "show", created["id"]) == created

    revoked = ask("keys", "update", created["id"], "--revoke", "--scope", "read:data")
    assert revoked["scopes"] == ["read:data"]
    assert revoked["revokedAt"] == revoked["updatedAt"]
    assert Snapshot.read(store).find_key(text, parse_instant_ms(revoked["updatedAt"])) is None
    store.close()

    ask("keys", "delete", created["id"])
    assert ask("keys", "list") == []


def test_a_key_cannot_reach_the_website_of_another(ask: Callable[..., Any], run: Run) -> None:
    ours = ask("organizations", "create", "--name", "Ours")["id"]
    theirs = ask("organizations", "create", "--name", "Theirs")["id"]
    website = ask("websites", "create", "--organization", theirs, "--domain", "t.example")["id"]

    done = run("keys", "create", "--organization", ours, "--website", website, "--scope", "admin")

    assert (done.code, done.err) == (
        2,
        f"tidemark: website '{website}' does not belong to organization '{ours}'\n",
    )


class Refusing(BaseHTTPRequestHandler):
    """A service that refuses everybody, and notes the keys that it is shown."""

    keys: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.keys.append(self.headers["x-api-key"])
        self.send_response(403)
        self.end_headers()
        self.wfile.write(b'{"error": "Access denied", "message": "Access denied"}')

    do_POST = do_GET  # noqa: N815 - the name is the server's

    def log_message(self, *_: object) -> None:
        """Nothing."""


def test_a_key_need_not_stand_in_the_list_of_processes(run: Run, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("tm_of_a_file\n")
    with HTTPServer(("127.0.0.1", 0), Refusing) as service:
        threading.Thread(target=service.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{service.server_port}"
        for command in (("ask", "summary", "--website"), ("debug",)):
            arguments = (*command, "web_1", "--url", url)
            denied = run(*arguments, TIDEMARK_API_KEY="tm_of_a_variable")
            assert (denied.code, denied.err) == (1, f"tidemark: Access denied. {KEY_ADVICE}\n")
            assert run(*arguments, "--key-file", str(tmp_path / "key")).code == 1
        service.shutdown()

    assert Refusing.keys == ["tm_of_a_variable", "tm_of_a_file"] * 2
