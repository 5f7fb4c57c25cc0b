"""tidemark organizations: create, update, delete."""

from collections.abc import Callable
from typing import Any

from tests.deploy.cli.command_result import Run


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
