"""tidemark contract: a website gets the contract of a file, keeps its enforcement, loses both."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.cli.command_result import Run

CONTRACT = {"events": {"purchase": {"properties": {"total": "number", "plan": "text"}}}}


@pytest.fixture
def shop(ask: Callable[..., Any]) -> str:
    owner = ask("organizations", "create", "--name", "Acme")["id"]
    ask("websites", "create", "--organization", owner, "--id", "shop", "--domain", "shop.example")
    return "shop"


def test_a_contract_is_set_shown_replaced_and_removed(
    ask: Callable[..., Any], run: Run, shop: str, tmp_path: Path
) -> None:
    file = tmp_path / "contract.json"
    file.write_text(json.dumps(CONTRACT))
    website = ("--website", shop)

    first = ask("contract", "set", str(file), *website, "--enforce", "refuse")
    again = ask("contract", "set", str(file), *website)
    shown = ask("contract", "show", *website)
    text = run("contract", "show", *website).out
    listed = ask("websites", "show", shop)
    removed = run("contract", "remove", *website)
    without = run("contract", "show", *website)

    assert (first["websiteId"], first["enforce"]) == ("shop", "refuse")
    assert first == again == shown
    assert text.splitlines()[1:] == ["purchase  total, plan", "shop: 1 events, enforce refuse"]
    assert "contract" not in listed
    assert (removed.code, removed.out) == (0, "shop has no contract now\n")
    assert (without.code, "shop has no contract; `tidemark contract set" in without.err) == (
        1,
        True,
    )


def test_a_file_that_is_no_contract_changes_nothing(run: Run, shop: str, tmp_path: Path) -> None:
    file = tmp_path / "contract.json"
    file.write_text('{"events": {}}')

    done = run("contract", "set", str(file), "--website", shop)

    assert (done.code, "of length >= 1" in done.err) == (2, True)
    assert run("contract", "show", "--website", shop).code == 1
