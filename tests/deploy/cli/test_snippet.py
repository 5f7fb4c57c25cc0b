"""`tidemark snippet`: tags that can be pasted as they are."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deploy.cli import main
from ingest.endpoints.scripts import read_manifest
from schemas.http.script_tag import EXTRA_SCRIPTS

Ask = Callable[..., Any]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    monkeypatch.setenv("TIDEMARK_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("TIDEMARK_COLLECT_PORT", "24000")

    def ask(*arguments: str) -> Any:
        main((*arguments, "--json"))
        return json.loads(capsys.readouterr().out)

    return ask


@pytest.fixture
def website(ask: Ask) -> str:
    organization = ask("organizations", "create", "--name", "Acme")["id"]
    created = ask("websites", "create", "--organization", organization, "--domain", "shop.example")
    return str(created["id"])


def test_a_snippet_names_collector_and_website(ask: Ask, website: str) -> None:
    script = read_manifest()["tidemark"]

    assert ask("snippet", website) == {
        "script": '<script defer src="http://127.0.0.1:24000/tidemark.js" '
        f'data-website-id="{website}"></script>',
        "pinned": f'<script defer src="http://127.0.0.1:24000/tidemark.{script.hash}.js" '
        f'data-website-id="{website}" integrity="{script.integrity}" '
        'crossorigin="anonymous"></script>',
    }


def test_requested_scripts_are_in_both_tags(ask: Ask, website: str) -> None:
    flags = [f"--{name}" for name in EXTRA_SCRIPTS]
    tag = ask("snippet", website, *flags, "--persist", "--collect-url", "/t/")

    assert tag["script"] == (
        f'<script defer src="/t/tidemark.js" data-website-id="{website}" '
        "data-persist data-vitals data-errors data-performance data-engagement data-downloads "
        "data-404></script>"
    )
    pinned = tag["pinned"].splitlines()
    for line, (name, script) in zip(pinned, read_manifest().items(), strict=True):
        assert f'src="/t/{name}.{script.hash}.js"' in line
        assert f'integrity="{script.integrity}"' in line
        assert "data-persist" in line
        assert "data-vitals" not in line


def test_a_website_that_nobody_knows_has_no_snippet(
    ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        ask("snippet", "web_nobody")

    assert ended.value.code == 2
    assert "web_nobody" in capsys.readouterr().err


@pytest.mark.parametrize(
    "url", ["foo", "//t.example", "ftp://t.example", "https://", "http://t.example:x", "", "/a b"]
)
def test_an_address_that_no_browser_reaches_is_refused(
    ask: Ask, website: str, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        ask("snippet", website, "--collect-url", url)

    assert ended.value.code == 2
    assert "Invalid value for '--collect-url'" in capsys.readouterr().err
