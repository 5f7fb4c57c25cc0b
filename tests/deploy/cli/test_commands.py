import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import click
import pytest
from msgspec import Struct, structs

from deploy.cli import main, tidemark
from deploy.demo.registry_records import read_demo
from deploy.demo.tenant import create_demo
from deploy.docs.env_example import ENV_EXAMPLE_FILE, env_example_text
from schemas.registry import Key, RegistryStore, Snapshot
from schemas.registry.migrate import migrate
from schemas.runtime.clock import parse_instant_ms
from schemas.runtime.settings import Settings
from tests.installation import free_port


class Done(Struct, frozen=True):
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str, **environment: str) -> Done:
        monkeypatch.setenv("TIDEMARK_DATA_DIR", str(tmp_path))
        code = 0
        with monkeypatch.context() as within:
            for name, value in environment.items():
                within.setenv(name, value)
            try:
                main(arguments)
            except SystemExit as ended:
                code = int(ended.code or 0)
        printed = capsys.readouterr()
        return Done(code, printed.out, printed.err)

    return run


@pytest.fixture
def ask(run: Run) -> Callable[..., Any]:
    def ask(*arguments: str) -> Any:
        done = run(*arguments, "--json")
        assert done.code == 0, done.err
        return json.loads(done.out)

    return ask


def test_an_organization_is_created_changed_and_deleted(ask: Callable[..., Any], run: Run) -> None:
    made = ask("organizations", "create", "--name", "Acme", "--plan", "pro", "--limit", "query=500")
    assert made == {
        "id": made["id"],
        "name": "Acme",
        "plan": "pro",
        "limits": {"query": 500},
        "createdAt": made["createdAt"],
        "updatedAt": made["createdAt"],
    }
    assert ask("organizations", "show", made["id"]) == made
    assert ask("organizations", "list") == [made]

    changed = ask("organizations", "update", made["id"], "--plan", "scale", "--limit", "custom=7")
    assert (changed["plan"], changed["limits"]) == ("scale", {"query": 500, "custom": 7})
    assert ask("organizations", "update", made["id"], "--plan-limits")["limits"] == {}

    assert ask("organizations", "delete", made["id"]) == {"id": made["id"], "deleted": True}
    gone = run("organizations", "show", made["id"])
    assert (gone.code, gone.err) == (2, f"tidemark: no organization '{made['id']}'\n")


def test_a_website_is_created_changed_and_deleted(ask: Callable[..., Any]) -> None:
    owner = ask("organizations", "create", "--name", "Acme")["id"]
    made = ask(
        "websites", "create", "--organization", owner, "--domain", "Shop.example",
        "--timezone", "Europe/Berlin",
    )  # fmt: skip
    assert made == {
        "id": made["id"],
        "organizationId": owner,
        "domain": "shop.example",
        "name": "shop.example",
        "timezone": "Europe/Berlin",
        "allowedOrigins": [],
        "createdAt": made["createdAt"],
        "updatedAt": made["createdAt"],
    }

    changed = ask("websites", "update", made["id"], "--name", "Shop", "--timezone", "Asia/Kolkata")
    assert (changed["name"], changed["timezone"]) == ("Shop", "Asia/Kolkata")
    assert ask("websites", "list", "--organization", owner) == [changed]
    assert ask("websites", "list", "--organization", "another") == []

    ask("websites", "delete", made["id"])
    assert ask("websites", "list") == []


def test_a_link_is_created_changed_and_deleted(ask: Callable[..., Any]) -> None:
    owner = ask("organizations", "create", "--name", "Acme")["id"]
    made = ask(
        "links", "create", "--organization", owner, "--name", "Autumn",
        "--target-url", "https://shop.example/autumn", "--slug", "autumn",
        "--external-id", "c-17", "--expires-at", "2026-12-31T00:00:00Z",
        "--expired-redirect-url", "https://shop.example/over",
        "--ios-url", "https://shop.example/ios", "--android-url", "https://shop.example/android",
        "--og-title", "Leaves", "--og-description", "All of them",
        "--og-image-url", "https://shop.example/a.png", "--og-video-url", "https://shop.example/a",
    )  # fmt: skip
    assert made == {
        "id": made["id"],
        "organizationId": owner,
        "name": "Autumn",
        "targetUrl": "https://shop.example/autumn",
        "slug": "autumn",
        "externalId": "c-17",
        "expiresAt": "2026-12-31T00:00:00.000Z",
        "expiredRedirectUrl": "https://shop.example/over",
        "iosUrl": "https://shop.example/ios",
        "androidUrl": "https://shop.example/android",
        "ogTitle": "Leaves",
        "ogDescription": "All of them",
        "ogImageUrl": "https://shop.example/a.png",
        "ogVideoUrl": "https://shop.example/a",
        "createdAt": made["createdAt"],
        "updatedAt": made["createdAt"],
        "shortUrl": "http://127.0.0.1:4000/l/autumn",
    }

    changed = ask("links", "update", made["id"], "--target-url", "https://shop.example/winter")
    assert changed["targetUrl"] == "https://shop.example/winter"
    assert ask("links", "show", made["id"]) == changed

    ask("links", "delete", made["id"])
    assert ask("links", "list") == []


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
    migrate(settings.registry_url)
    demo = create_demo(settings)
    [key] = ask("keys", "list")
    other = ask("keys", "create", "--organization", demo.organization_id, "--scope", "read:data")

    new = ask("keys", "rotate", key["id"])
    ask("keys", "rotate", other["id"])

    assert read_demo(tmp_path) == structs.replace(demo, api_key=new["key"])
    assert (tmp_path / "demo.json").stat().st_mode & 0o777 == 0o600


def test_a_website_names_the_origins_that_may_send_for_it(
    ask: Callable[..., Any], run: Run
) -> None:
    owner = ask("organizations", "create", "--name", "Acme")["id"]
    made = ask(
        "websites", "create", "--organization", owner, "--domain", "shop.example",
        "--allow-origin", "https://Shop.example:443/", "--allow-origin", "https://*.shop.example",
    )  # fmt: skip
    assert made["allowedOrigins"] == ["https://shop.example", "https://*.shop.example"]

    changed = ask("websites", "update", made["id"], "--allow-origin", "http://localhost:8080")
    assert changed["allowedOrigins"] == ["http://localhost:8080"]
    assert ask("websites", "update", made["id"], "--any-origin")["allowedOrigins"] == []
    refused = run("websites", "update", made["id"], "--allow-origin", "shop.example")
    assert (refused.code, "'allowedOrigins' has 'shop.example'" in refused.err) == (2, True)


def test_the_text_of_a_key_is_shown_once(ask: Callable[..., Any], tmp_path: Path) -> None:
    owner = ask("organizations", "create", "--name", "Acme")["id"]
    website = ask("websites", "create", "--organization", owner, "--domain", "shop.example")["id"]
    made = ask(
        "keys", "create", "--organization", owner, "--website", website,
        "--scope", "track:events", "--scope", "read:data", "--name", "Server",
    )  # fmt: skip
    text = made.pop("key")
    store = RegistryStore(Settings(data_dir=str(tmp_path)).registry_url)
    known = Snapshot.read(store).find_key(text, parse_instant_ms(made["createdAt"]))

    assert made == {
        "id": made["id"],
        "organizationId": owner,
        "websiteId": website,
        "name": "Server",
        "scopes": ["track:events", "read:data"],
        "expiresAt": None,
        "revokedAt": None,
        "lastUsedAt": None,
        "createdAt": made["createdAt"],
        "updatedAt": made["createdAt"],
    }
    assert known == store.get(Key, made["id"])
    assert ask("keys", "show", made["id"]) == made

    revoked = ask("keys", "update", made["id"], "--revoke", "--scope", "read:data")
    assert revoked["scopes"] == ["read:data"]
    assert revoked["revokedAt"] == revoked["updatedAt"]
    assert Snapshot.read(store).find_key(text, parse_instant_ms(revoked["updatedAt"])) is None
    store.close()

    ask("keys", "delete", made["id"])
    assert ask("keys", "list") == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("organizations", "create", "--name", "x", "--plan", "gold"),
            "Invalid value for '--plan': 'gold' is not one of 'free', 'pro', 'scale', "
            "'enterprise'.",
        ),
        (
            ("organizations", "create", "--name", "x", "--limit", "query=many"),
            "Invalid value for '--limit': 'query=many' is not GROUP=N, such as query=500",
        ),
        (
            ("organizations", "create", "--name", "x", "--limit", "storage=5"),
            "'limits' has 'storage'; groups are collect, query, custom, links, redirects, public, "
            "collect_mib, collect_items",
        ),
        (
            ("websites", "create", "--organization", "nobody", "--domain", "shop.example"),
            "--organization: no organization 'nobody'",
        ),
        (
            ("links", "create", "--organization", "o", "--name", "n", "--target-url", "http://x"),
            "--organization: no organization 'o'",
        ),
        (
            ("keys", "create", "--organization", "o", "--scope", "read:data"),
            "--organization: no organization 'o'",
        ),
        (
            ("reenrich", "--from", "2026-11-21", "--to", "2026-11-20"),
            "--to 2026-11-20 is before --from 2026-11-21",
        ),
        (
            ("ask", "summary", "--website", "w", "--key", "k", "--from", "2026-11-21"),
            "--from and --to go together: --to is missing",
        ),
        (
            ("export", "events", "--website", "w", "--key", "k", "--to", "2026-11-21"),
            "--from and --to go together: --from is missing",
        ),
        (
            ("snippet", "w", "--collect-url", "foo"),
            "Invalid value for '--collect-url': 'foo' is neither an http or https URL, such as "
            "https://t.shop.example, nor a path of the site, such as /t",
        ),
        (
            ("links", "create", "--organization", "o", "--name", "n", "--target-url", "ftp://x"),
            "'targetUrl' must be an http or https URL of at most 2,048 characters "
            "without user name; set TIDEMARK_LINK_SCHEMES to allow app schemes",
        ),
        (("links", "update", "l"), "nothing to change; give at least one option"),
        (
            ("keys", "create", "--organization", "o"),
            "Missing option '--scope'. Choose from: track:events, read:data, read:links, "
            "write:links, manage:websites, admin",
        ),
    ],
)
def test_bad_input_is_one_line(run: Run, arguments: tuple[str, ...], message: str) -> None:
    done = run(*arguments)

    assert done == Done(2, "", f"tidemark: {message}\n")


def test_a_key_cannot_reach_the_website_of_another(ask: Callable[..., Any], run: Run) -> None:
    ours = ask("organizations", "create", "--name", "Ours")["id"]
    theirs = ask("organizations", "create", "--name", "Theirs")["id"]
    website = ask("websites", "create", "--organization", theirs, "--domain", "t.example")["id"]

    done = run("keys", "create", "--organization", ours, "--website", website, "--scope", "admin")

    assert (done.code, done.err) == (
        2,
        f"tidemark: website '{website}' does not belong to organization '{ours}'\n",
    )


def test_a_bad_setting_is_one_line(run: Run) -> None:
    done = run("up", TIDEMARK_QUERY_PORT="0")

    assert (done.code, done.err) == (
        2,
        "tidemark: TIDEMARK_QUERY_PORT='0': Expected `int` >= 1\n",
    )


def test_a_variable_that_no_setting_reads_is_named(run: Run) -> None:
    done = run("settings", TIDEMARK_COLECT_PORT="4100", TIDEMARK_SERVICE_HOST="10.0.0.1")

    assert (done.code, done.err) == (
        0,
        "tidemark: TIDEMARK_COLECT_PORT is not a known setting and is ignored;"
        " did you mean TIDEMARK_COLLECT_PORT?\n"
        "tidemark: TIDEMARK_SERVICE_HOST is not a known setting and is ignored\n",
    )


class Refusing(BaseHTTPRequestHandler):
    """A service that refuses everybody, and notes the keys that it is shown."""

    keys: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.keys.append(self.headers["x-api-key"])
        self.send_error(401)

    do_POST = do_GET  # noqa: N815 - the name is the server's

    def log_message(self, *_: object) -> None:
        """Nothing."""


def test_a_key_need_not_stand_in_the_list_of_processes(run: Run, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("tm_of_a_file\n")
    with HTTPServer(("127.0.0.1", 0), Refusing) as service:
        threading.Thread(target=service.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{service.server_port}"
        for command in (("ask", "summary", "--website"), ("debug",)):
            asked = (*command, "web_1", "--url", url)
            assert run(*asked, TIDEMARK_API_KEY="tm_of_a_variable").code == 1
            assert run(*asked, "--key-file", str(tmp_path / "key")).code == 1
        service.shutdown()

    assert Refusing.keys == ["tm_of_a_variable", "tm_of_a_file"] * 2


def test_settings_never_print_a_password(run: Run) -> None:
    url = "postgresql://tidemark:s3cret@127.0.0.1/registry"

    said = run("settings", TIDEMARK_REGISTRY=url)

    assert "s3cret" not in said.out
    assert "TIDEMARK_REGISTRY=postgresql://tidemark:***@127.0.0.1/registry" in said.out


def test_settings_shows_every_setting(run: Run, ask: Callable[..., Any]) -> None:
    variables = [f"TIDEMARK_{name.upper()}" for name in Settings.__struct_fields__]

    assert [one["variable"] for one in ask("settings")] == variables
    assert all(f"{variable}=" in run("settings").out for variable in variables[:3])


def test_the_example_of_the_environment_is_what_the_settings_say() -> None:
    assert ENV_EXAMPLE_FILE.read_text() == env_example_text(), "run `make docs`"
    assert all(
        f"#TIDEMARK_{name.upper()}=" in env_example_text() for name in Settings.__struct_fields__
    )


def test_status_speaks_when_nothing_runs(ask: Callable[..., Any], tmp_path: Path) -> None:
    nothing = {"rows": 0, "newest": None, "lagChunks": None, "lagSeconds": None, "problem": None}

    said = ask("status")

    assert said.pop("diskFreeMb") > 0
    assert said == {
        "data": str(tmp_path),
        "state": "down",
        "problems": ["Tidemark is not running"],
        "processes": [],
        "tables": [
            {"name": n, **nothing}
            for n in ("events", "vitals", "errors", "clicks", "engagement", "identities")
        ],
        "imports": {"lagChunks": None, "lagSeconds": None},
        "quarantineRows": 0,
    }


def test_every_command_has_a_help_text() -> None:
    def without_help(command: Any, path: str) -> list[str]:
        found = [] if command.help else [path]
        for name, inner in inner_of(command).items():
            found += without_help(inner, f"{path} {name}")
        return found

    def inner_of(command: Any) -> dict[str, Any]:
        if not isinstance(command, click.Group):
            return {}
        context = click.Context(command)
        return {n: command.get_command(context, n) for n in command.list_commands(context)}

    assert "undo" in inner_of(inner_of(tidemark)["import"])
    assert without_help(tidemark, "tidemark") == []


@pytest.mark.parametrize("url", ["no url at all", "sqlite:////proc/nowhere/registry.db"])
def test_a_registry_that_cannot_be_opened_is_one_line(run: Run, url: str) -> None:
    for command in (("websites", "list"), ("up",)):
        done = run(
            *command,
            TIDEMARK_REGISTRY=url,
            TIDEMARK_KAFKA="127.0.0.1:1",
            TIDEMARK_COLLECT_PORT=str(free_port()),
            TIDEMARK_QUERY_PORT=str(free_port()),
        )

        assert done.code == 1
        assert done.err.startswith("tidemark: the registry cannot be opened: ")
        assert len(done.err.splitlines()) == 1
