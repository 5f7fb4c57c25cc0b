"""Each alert rule has a test for promtool (`make alerts`) and a section in the run book."""

import re
from typing import Any

import msgspec
import pytest

from tests.deploy.deployment_files import DEPLOY, read_yaml
from tests.repo.source_tree import ROOT

RULES: list[Any] = [
    rule
    for group in read_yaml("helm/tidemark/monitoring/alerts.yaml")["groups"]
    for rule in group["rules"]
]
NAMES = [rule["alert"] for rule in RULES]
RUNBOOK = (DEPLOY / "RUNBOOK.md").read_text()


def test_each_rule_says_how_bad_it_is_and_what_to_do() -> None:
    for rule in RULES:
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert rule["annotations"].keys() == {"summary", "action"}


def test_each_rule_is_tested_and_nothing_else() -> None:
    cases = msgspec.yaml.decode((ROOT / "tests/deploy/helm/alerts_test.yaml").read_bytes())["tests"]
    fired = {
        name
        for case in cases
        for test in case["promql_expr_test"]
        for sample in test["exp_samples"]
        for name in re.findall(r'alertname="(\w+)"', sample["labels"])
    }

    assert fired == set(NAMES)


def test_each_rule_has_a_section_in_the_run_book() -> None:
    assert sorted(re.findall(r"^## (\w+)$", RUNBOOK, re.MULTILINE)) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_section_has_a_command(name: str) -> None:
    section = RUNBOOK.partition(f"## {name}\n")[2].partition("\n## ")[0]

    assert re.search(r"^ {4}\S", section, re.MULTILINE)
