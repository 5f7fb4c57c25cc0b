"""Stored events against the contract of their sender: each difference is named and counted."""

import json
from pathlib import Path
from typing import Any

import pytest

from deploy.cli.event_contract import InvalidContract, check_events, read_contract
from schemas.event_contract import Contract, Drift

PURCHASE = {
    "properties": {
        "total": {"type": "number", "required": True, "unit": "EUR"},
        "items": "integer",
        "plan": "text",
        "gift": "boolean",
        "address.city": "text",
        "tags": "array",
    }
}


def a_contract(tmp_path: Path, **others: Any) -> Contract:
    file = tmp_path / "contract.json"
    file.write_text(json.dumps({"events": {"purchase": PURCHASE, "signup": {}}, **others}))
    return read_contract(file)


def stored(name: str, at: int = 10, **properties: Any) -> dict[str, Any]:
    text = json.dumps(properties) if properties else None
    return {"name": name, "ts": f"2026-11-{at:02}T00:00:00.000Z", "properties": text}


def test_events_that_fit_have_no_drift(tmp_path: Path) -> None:
    whole: dict[str, Any] = {"total": 12.5, "items": 2.0, "plan": "pro", "gift": False, "tags": []}

    result = check_events(
        a_contract(tmp_path),
        [
            stored("purchase", **whole, address={"city": "Bonn"}),
            stored("purchase", total=0),
            stored("signup"),
            stored("screen_view", path="/"),
        ],
    )

    assert (result.checked, result.drifts, result.not_sent) == (3, {}, [])


def test_each_drift_is_named_and_counted(tmp_path: Path) -> None:
    result = check_events(
        a_contract(tmp_path),
        [
            stored("purchase", 10, total="12.5", items=1.5),
            stored("purchase", 12, total=True, plan=None),
            stored("purchase", 11, total="1", coupon="x"),
            stored("purchase", 11, address={"city": 7}),
            stored("sign_up", 9),
            stored("sign_up", 8),
        ],
    )

    assert {
        drift: (count.events, count.last_at[8:10]) for drift, count in result.drifts.items()
    } == {
        Drift("purchase", "total", "is text, not number"): (2, "11"),
        Drift("sign_up", None, "is not in the contract"): (2, "09"),
        Drift("purchase", "items", "is number, not integer"): (1, "10"),
        Drift("purchase", "total", "is boolean, not number"): (1, "12"),
        Drift("purchase", "coupon", "is not in the contract"): (1, "11"),
        Drift("purchase", "total", "is missing"): (1, "11"),
        Drift("purchase", "address.city", "is number, not text"): (1, "11"),
    }
    assert (result.checked, result.not_sent) == (6, ["signup"])


def test_other_events_and_properties_may_be_permitted(tmp_path: Path) -> None:
    events = {"signup": {"otherProperties": True}}

    contract = a_contract(tmp_path, events=events, otherEvents=True)

    assert check_events(contract, [stored("signup", a=1), stored("other")]).drifts == {}


def test_a_contract_may_be_toml(tmp_path: Path) -> None:
    file = tmp_path / "contract.toml"
    file.write_text("""
        [events.purchase.properties]
        plan = "text"
        total = {type = "number", required = true}
    """)

    result = check_events(read_contract(file), [stored("purchase", plan="pro")])

    assert list(result.drifts) == [Drift("purchase", "total", "is missing")]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("c.json", "{", "Expecting property name"),
        ("c.json", "{}", "missing required field `events`"),
        ("c.json", '{"events": {}}', "of length >= 1"),
        ("c.json", '{"events": {"a": {"properties": {"b": "int"}}}}', "Invalid enum value 'int'"),
        ("c.json", '{"events": {"a": {"types": {}}}}', "unknown field `types`"),
        ("c.toml", "events = ", "Invalid value"),
        ("c.yaml", "events:", "contracts are JSON or TOML"),
    ],
)
def test_what_is_no_contract_names_field_and_rule(
    tmp_path: Path, name: str, text: str, problem: str
) -> None:
    file = tmp_path / name
    file.write_text(text)

    with pytest.raises(InvalidContract, match=problem):
        read_contract(file)
