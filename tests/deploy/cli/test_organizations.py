"""tidemark organizations: create, update, delete."""

from collections.abc import Callable
from typing import Any

from tests.deploy.cli.command_result import Run


def test_an_organization_is_created_changed_and_deleted(ask: Callable[..., Any], run: Run) -> None:
    organization = ask(
        "organizations", "create", "--name", "Acme", "--plan", "pro", "--limit", "query=500"
    )
    assert organization == {
        "id": organization["id"],
        "name": "Acme",
        "plan": "pro",
        "limits": {"query": 500},
        "keepDays": {},
        "requireSecondFactor": False,
        "createdAt": organization["createdAt"],
        "updatedAt": organization["createdAt"],
    }
    assert ask("organizations", "show", organization["id"]) == organization
    assert ask("organizations", "list") == [organization]

    changed = ask(
        "organizations", "update", organization["id"], "--plan", "scale", "--limit", "custom=7"
    )
    assert (changed["plan"], changed["limits"]) == ("scale", {"query": 500, "custom": 7})
    assert ask("organizations", "update", organization["id"], "--plan-limits")["limits"] == {}

    assert ask("organizations", "delete", organization["id"]) == {
        "id": organization["id"],
        "deleted": True,
    }
    gone = run("organizations", "show", organization["id"])
    assert (gone.code, gone.err) == (2, f"tidemark: no organization '{organization['id']}'\n")
