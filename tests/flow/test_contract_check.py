"""`tidemark contract check` against what a website has stored, `set` for what it receives."""

import json
import subprocess
import sys
from pathlib import Path

from tests.flow.tenant import Tenant
from tests.installation import ROOT, eventually

CONTRACT = {"events": {"purchase": {"properties": {"total": {"type": "number"}}}}}


def contract(
    tenant: Tenant, file: Path, command: str, *options: str
) -> subprocess.CompletedProcess[str]:
    file.write_text(json.dumps(CONTRACT))
    arguments = ("contract", command, str(file), "--website", tenant.website.id, *options)
    return subprocess.run(
        (sys.executable, "-m", "deploy.cli", *arguments),
        cwd=ROOT,
        env={**tenant.stack.environment, "TIDEMARK_API_KEY": tenant.key},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_contract_that_is_set_is_enforced_without_a_restart(
    tenant: Tenant, tmp_path: Path
) -> None:
    drifting = {"name": "purchase", "properties": {"total": "12.5"}}
    assert tenant.send(drifting).status == 200

    done = contract(tenant, tmp_path / "contract.json", "set", "--enforce", "refuse")

    assert (done.returncode, done.stderr) == (0, "")
    eventually(lambda: tenant.send(drifting).status == 400)


def test_a_drift_of_stored_events_is_an_exit_code(tenant: Tenant, tmp_path: Path) -> None:
    def check() -> subprocess.CompletedProcess[str]:
        file = tmp_path / "contract.json"
        return contract(tenant, file, "check", "--url", tenant.stack.query_url)

    tenant.send([{"name": "purchase", "properties": {"total": 12.5}}])
    eventually(lambda: "events checked: 1" in check().stdout)
    assert (check().returncode, check().stdout) == (0, "events checked: 1, differences: 0\n")

    tenant.send([{"name": "purchase", "properties": {"total": "12.5"}}])
    eventually(lambda: "events checked: 2" in check().stdout)
    drifted = check()
    assert drifted.returncode == 1
    assert "is text, not number" in drifted.stdout
    assert drifted.stdout.endswith("events checked: 2, differences: 1\n")
