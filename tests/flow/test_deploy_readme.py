"""The commands of deploy/README.md, as an operator would paste them, on a running installation."""

import gzip
import json
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from zipfile import ZipFile

import click
import pytest

from deploy.cli import tidemark
from schemas.registry import RegistryStore, validation
from schemas.runtime.clock import now_ms
from tests.deploy.cli.command_result import run_command
from tests.flow.tenant import DAY, Tenant
from tests.installation import ROOT, Installation

README = (ROOT / "deploy" / "README.md").read_text()
FENCED = re.findall(r"^tidemark .+?(?=\s+#|$)", README, re.MULTILINE)
INLINE = re.findall(r"`(tidemark [a-z][^`]+)`", README)
MCP_CLIENT = json.loads(re.findall(r"```json\n(.+?)```", README, re.DOTALL)[0])

NOT_RUN = {
    "tidemark up": "the stack is one",
    "tidemark up --logs": "the stack is one",
    "tidemark scale worker 2": "changes the stack of other tests (tests/chaos)",
    "tidemark demo --visitors N --rate R": "takes long (tests/deploy/demo)",
    "tidemark mcp": "does not end (tests/flow/test_mcp.py)",
    "tidemark export": "the name only",
    "tidemark backup verify /mnt/backups": "needs that backup",
    "tidemark restore /mnt/backups --into /srv/tidemark": "needs that backup",
    "tidemark websites restore ID": "needs a deleted website (tests/flow/test_deletion.py)",
    "tidemark organizations restore ID": "needs a deleted organization",
}
SHORTENED = {
    "tidemark debug web_… --key-file my.key": ("--once",),
    "tidemark scale": ("--seconds", "1"),
}
"""Options with which a command ends sooner."""
RUN = [line for line in dict.fromkeys([*FENCED, *INLINE]) if line not in NOT_RUN]

CUSTOM_QUERY = {"table": "events", "selects": [{"field": "*", "aggregate": "count"}]}
VISITS = f"name,{{time}},path\nscreen_view,{DAY}T10:00:00Z,https://shop.example/\n"
TOTALS = f"date,visitors,pageviews\n{DAY},2,3\n"

Run = Callable[[Sequence[str]], str]


@pytest.fixture
def run(
    stack: Installation,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Runs a command in a folder with the files that the page names; what it prints."""
    for name, value in stack.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    Path("query.json").write_text(json.dumps(CUSTOM_QUERY))
    Path("contract.json").write_text(json.dumps({"events": {"signup": {}}}))

    def run(arguments: Sequence[str]) -> str:
        done = run_command(arguments, capsys)
        assert done.code == 0, done.err
        return done.out

    return run


def with_ids(line: str, tenant: Tenant) -> str:
    """The command with a tenant's ids instead of those that the page leaves open."""
    now = now_ms()
    store = RegistryStore(tenant.stack.settings.registry_url)
    begun = validation.new_import(tenant.website, "visits.csv", now)
    key, _text = validation.new_key(tenant.organization.id, ["read:data"], now)
    store.create(begun)
    store.create(key)
    store.close()
    known = {
        "org_…": tenant.organization.id,
        "web_…": tenant.website.id,
        "imp_…": begun.id,
        "/mnt/backups": "backups",
        "keys rotate ID": f"keys rotate {key.id}",
        "websites update ID": f"websites update {tenant.website.id}",
    }
    for shown, actual in known.items():
        line = line.replace(shown, actual)
    return line


@pytest.mark.parametrize("line", RUN)
def test_a_command_runs(
    line: str, tenant: Tenant, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("my.key").write_text(tenant.key)
    visits = VISITS.format(time="when" if "when=timestamp" in line else "timestamp")
    Path("visits.csv.gz").write_bytes(gzip.compress(visits.encode()))
    with ZipFile("export.zip", "w") as export:
        export.writestr("visits.csv", visits)
    with ZipFile("plausible.zip", "w") as export:
        export.writestr("imported_visitors.csv", TOTALS)
    if (
        "--website web_…" in line or "reconcile" in line
    ):  # without a website, that of the demo is asked, with its key
        monkeypatch.setenv("TIDEMARK_API_KEY", tenant.key)

    arguments = shlex.split(with_ids(line, tenant))[1:]
    printed = run([*arguments, *SHORTENED.get(line, ())])

    assert printed or "--output" in line or line in SHORTENED


@pytest.mark.parametrize("line", NOT_RUN)
def test_the_options_of_a_command_that_is_not_run_exist(line: str) -> None:
    assert line in (*FENCED, *INLINE)
    parse(shlex.split(line)[1:])


def test_the_client_of_a_language_model_starts_the_command_with_options_that_exist() -> None:
    parse(MCP_CLIENT["mcpServers"]["tidemark"]["args"])


def test_an_option_that_does_not_exist_is_found() -> None:
    with pytest.raises(click.NoSuchOption):
        parse(["up", "--log"])


def parse(arguments: Sequence[str]) -> None:
    """Fail with an unknown command or option, as the command itself does."""
    command: click.Command = tidemark
    context = click.Context(tidemark)
    while isinstance(command, click.Group) and arguments:
        _, found, arguments = command.resolve_command(context, list(arguments))
        assert found is not None
        command, context = found, click.Context(found, context)
    command.make_parser(context).parse_args(list(arguments))
