"""`tidemark mcp` when it cannot start; tests/flow/test_mcp.py has the server itself."""

import pytest

import deploy.cli.mcp
from tests.deploy.cli.command_result import Run


def test_it_needs_a_key(run: Run) -> None:
    done = run("mcp", "--website", "w")

    assert (done.code, done.out) == (2, "")
    assert done.err == "tidemark: give an API key: TIDEMARK_API_KEY, or --key-file\n"


def test_without_its_packages_it_says_how_to_install_them(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deploy.cli.mcp, "find_spec", lambda _name: None)

    done = run("mcp", "--key", "k")

    assert done.err == (
        "tidemark: the packages of the MCP server are not installed; run `make mcp`\n"
    )
