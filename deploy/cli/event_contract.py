"""Reads contract files, and counts how stored events differ from one."""

import json
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from schemas.event_contract import Contract, ContractChecker, Drift


class DriftCount(Struct, rename="camel"):
    """How many events have a drift, and when the last was."""

    events: int
    last_at: str


class ContractResult(Struct, frozen=True):
    """Stored events against a contract."""

    checked: int
    drifts: Mapping[Drift, DriftCount]
    not_sent: list[str]
    """Events of the contract that no stored event is of."""


class InvalidContract(ValueError):
    """A file that is no contract."""


def read_contract(path: Path) -> Contract:
    """The contract of a file; InvalidContract names the field and the rule."""
    try:
        text = path.read_text()
        data = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
        return msgspec.convert(data, Contract)
    except (ValueError, OSError) as error:  # of JSON, TOML, UTF-8 and msgspec
        hint = "; contracts are JSON or TOML" if path.suffix in (".yaml", ".yml") else ""
        raise InvalidContract(f"{error}{hint}") from None


def check_events(contract: Contract, rows: Iterable[Mapping[str, Any]]) -> ContractResult:
    """Check stored events, each with `name`, `ts` and `properties` as JSON text."""
    checker = ContractChecker(contract)
    drifts: dict[Drift, DriftCount] = {}
    missing = set(contract.events)
    checked = 0
    for row in rows:
        name, text = row["name"], row["properties"]
        if not checker.covers(name):
            continue
        checked += 1
        missing.discard(name)
        for drift in checker.drifts(name, json.loads(text) if text else {}):
            count = drifts.setdefault(drift, DriftCount(0, row["ts"]))
            count.events += 1
            count.last_at = max(count.last_at, row["ts"])
    by_frequency = sorted(drifts.items(), key=lambda item: -item[1].events)
    return ContractResult(checked, dict(by_frequency), sorted(missing))
