"""`tidemark contract check` against what a website has stored: exit code and differences."""

import json
import subprocess
import sys
from pathlib import Path

from tests.flow.tenant import Tenant
from tests.installation import ROOT, eventually

CONTRACT = {"events": {"purchase": {"properties": {"total": {"type": "number"}}}}}


def test_a_drift_of_stored_events_is_an_exit_code(tenant: Tenant, tmp_path: Path) -> None:
    file = tmp_path / "contract.json"
    file.write_text(json.dumps(CONTRACT))

    def check(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = ("contract", "check", str(file), "--website", tenant.website.id)
        return subprocess.run(
            (sys.executable, "-m", "deploy.cli", *command, "--url", tenant.stack.query_url),
            cwd=ROOT,
            env={**tenant.stack.environment, "TIDEMARK_API_KEY": tenant.key},
            capture_output=True,
            text=True,
            check=False,
        )

    tenant.send([{"name": "purchase", "properties": {"total": 12.5}}])
    eventually(lambda: "events checked: 1" in check().stdout)
    assert (check().returncode, check().stdout) == (0, "events checked: 1, differences: 0\n")

    tenant.send([{"name": "purchase", "properties": {"total": "12.5"}}])
    eventually(lambda: "events checked: 2" in check().stdout)
    drifted = check()
    assert drifted.returncode == 1
    assert "is text, not number" in drifted.stdout
    assert drifted.stdout.endswith("events checked: 2, differences: 1\n")
