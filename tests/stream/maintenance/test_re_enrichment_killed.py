"""A re-enrichment that is killed leaves whole days; the next one does the rest."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from schemas.runtime.environment import to_environment
from schemas.runtime.settings import Settings
from schemas.tables import EVENTS
from tests.installation import ROOT
from tests.stream.builders import (
    rows,
    settings,
)
from tests.stream.maintenance.re_enriched_lake import everything, fill, run, stale

KILLED = """
import os, signal, sys
from datetime import date
from schemas.runtime.environment import load_settings
from stream.storage.delta_commit import LakeTable
from stream.enrich.rules.lookups import Lookups
from stream.maintenance.re_enrichment import ReEnrichmentOptions, re_enrich

write, done = LakeTable._write, []

def crash_after(self, actions, moves):
    if len(done) == 1 and sys.argv[1] == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    write(self, actions, moves)
    done.append(1)
    if len(done) == 2:
        os.kill(os.getpid(), signal.SIGKILL)

LakeTable._write = crash_after
days = ReEnrichmentOptions(date(2026, 11, 20), date(2026, 11, 21))
list(re_enrich(load_settings(), Lookups(), days))
"""


@pytest.mark.parametrize(("moment", "left"), [("before", 10), ("after", 0)])
def test_a_kill_in_the_middle_leaves_whole_days_and_the_rest_is_done_later(
    tmp_path: Path, moment: str, left: int
) -> None:
    fill(tmp_path)
    right = everything(tmp_path)
    stale(tmp_path, referrer_name="Altavista")
    config: Settings = settings(tmp_path)

    died = subprocess.run(
        [sys.executable, "-c", KILLED, moment],
        cwd=ROOT,
        env={**os.environ, **to_environment(config), "PYTHONPATH": str(ROOT)},
        check=False,
    )

    assert died.returncode == -signal.SIGKILL
    names = [name for (name,) in rows(config, EVENTS, "referrer_name")]
    assert (len(names), names.count("Altavista")) == (20, left)
    assert sum(each.rows for each in run(tmp_path)) == left
    assert everything(tmp_path) == right
