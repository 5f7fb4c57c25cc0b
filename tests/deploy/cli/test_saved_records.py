"""Commands of saved records: create, list, update, delete."""

import json
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest

from deploy.cli import saved_records
from query.resources.saved_types import SAVED_TYPES, SavedType
from schemas.registry import Alias, Channel, Share
from tests.deploy.cli.command_result import Run

GROUPS = {saved.record.plural: getattr(saved_records, saved.record.plural) for saved in SAVED_TYPES}


def a_website(ask: Callable[..., Any], owner: str | None = None) -> str:
    owner = owner or ask("organizations", "create", "--name", "Acme")["id"]
    website = ask("websites", "create", "--organization", owner, "--domain", "shop.example")
    return str(website["id"])


def options_of(saved: SavedType) -> list[str]:
    """The example body as options."""
    flags = {field.encode_name: f"--{field.name.replace('_', '-')}" for field in saved.fields}
    return [
        text
        for name, value in saved.example.items()
        for text in (flags[name], _as_option(name, value))
    ]


def _as_option(name: str, value: Any) -> str:
    if name in saved_records.LISTS:
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value)


@pytest.mark.parametrize("saved", SAVED_TYPES, ids=lambda saved: saved.record.plural)
def test_a_record_is_created_listed_and_deleted(ask: Callable[..., Any], saved: SavedType) -> None:
    group, website = saved.record.plural.replace("_", "-"), a_website(ask)
    other = a_website(ask)

    created = ask(group, "create", "--website", website, *options_of(saved))
    unique = ("--name", "another") if saved.record is Alias else ()
    record, elsewhere = (
        ask(group, "show", one["id"])
        for one in (created, ask(group, "create", "--website", other, *options_of(saved), *unique))
    )

    once = {Share: {"path"}, Channel: {"secret"}}.get(saved.record, set())
    assert record == {name: value for name, value in created.items() if name not in once}
    assert record["websiteId"] == website
    instants = {"expires": "2027-01-01T00:00:00.000Z"} if saved.record is Share else {}
    expected = {**saved.example, **instants}
    assert record == record | {n: v for n, v in expected.items() if n not in saved.record.sealed}
    assert not {*saved.record.sealed} & record.keys()
    assert ask(group, "list", "--website", website) == [record]
    assert ask(group, "list") == [record, elsewhere]

    ask(group, "delete", record["id"])
    assert ask(group, "list") == [elsewhere]


def test_an_update_changes_only_what_it_names(ask: Callable[..., Any]) -> None:
    website = a_website(ask)
    goal = ask("goals", "create", "--website", website, "--name", "Trial", "--event", "trial")

    ask("goals", "update", goal["id"], "--event", "", "--path", "/trial/*")
    changed = ask("goals", "show", goal["id"])

    assert (changed["name"], changed["event"], changed["path"]) == ("Trial", None, "/trial/*")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (("--name", "a"), "A goal has either 'event' or 'path'"),
        (("--name", "a", "--event", "e", "--filters", "{"), "--filters is not valid JSON"),
        (
            ("--name", "a", "--event", "e", "--filters", '[{"field":"contry","op":"is_null"}]'),
            "in table 'events', at 'filters[0].field'; did you mean 'country'?",
        ),
        (("--event", "e"), "Missing option '--name'"),
    ],
)
def test_a_mistake_is_one_line(
    ask: Callable[..., Any], run: Run, options: tuple[str, ...], error: str
) -> None:
    done = run("goals", "create", "--website", a_website(ask), *options)

    assert (done.code, done.err.count("\n")) == (2, 1)
    assert error in done.err


def test_an_unknown_website_is_named(ask: Callable[..., Any], run: Run) -> None:
    a_website(ask)

    done = run("goals", "create", "--website", "web_none", "--name", "a", "--event", "e")

    assert (done.code, done.err) == (2, "tidemark: no website 'web_none'\n")


@pytest.mark.parametrize(
    ("group", "options", "error"),
    [
        ("segments", ("--filters", '{"a": 1}'), "'filters' must be an array, not an object"),
        ("funnels", ("--steps", '[{"path": "/"}]', "--window", "1e99"), "'window'"),
    ],
)
def test_a_value_of_another_type_is_named(
    ask: Callable[..., Any], run: Run, group: str, options: tuple[str, ...], error: str
) -> None:
    done = run(group, "create", "--website", a_website(ask), "--name", "a", *options)

    assert (done.code, done.err.count("\n")) == (2, 1)
    assert error in done.err


def test_every_field_is_an_option_of_both_commands() -> None:
    for saved in SAVED_TYPES:
        commands = GROUPS[saved.record.plural].commands
        for command in ("create", "update"):
            options = {option.name for option in commands[command].params}
            assert {field.name for field in saved.fields} <= options


def test_filters_are_printed_as_json(run: Run, ask: Callable[..., Any]) -> None:
    filters = [{"field": "country", "operator": "in", "value": ["DE", "AT"]}]
    options = ("--name", "Germanic", "--filters", json.dumps(filters))

    done = run("segments", "create", "--website", a_website(ask), *options)

    [line] = [line for line in done.out.splitlines() if line.startswith("filters")]
    assert json.loads(line.removeprefix("filters")) == filters


def test_a_share_with_filters_says_what_they_do_not_hide(
    run: Run, ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    website = a_website(ask)
    filters = json.dumps([{"field": "path", "operator": "starts_with", "value": "/docs"}])
    monkeypatch.setattr("sys.stdin", StringIO("correct horse\n"))

    command = ("shares", "create", "--website", website, "--json", "--name")
    filtered = run(*command, "Docs", "--filters", filters, "--password")
    whole = run(*command, "All")

    assert "exit pages and paths, may still name other pages" in filtered.err
    assert json.loads(filtered.out)["password"] is True
    assert (whole.err, json.loads(whole.out)["password"]) == ("", False)
    short = run(*command, "Open", "--password")  # standard input has ended
    assert (short.code, "password" in short.err) == (2, True)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--kind", "webhook"), "'kind' is 'ntfy' and cannot change"),
        (("--address", "https://other.example/shop"), "'token' is missing"),
    ],
)
def test_a_channel_keeps_its_kind_and_its_token_for_its_host(
    ask: Callable[..., Any], run: Run, options: tuple[str, ...], problem: str
) -> None:
    made = ("--name", "Team", "--kind", "ntfy", "--token", "tk_1")
    address = ("--address", "https://ntfy.example/shop")
    channel = ask("channels", "create", "--website", a_website(ask), *made, *address)

    done = run("channels", "update", channel["id"], *options)

    assert (done.code, problem in done.err) == (2, True), done.err
    assert ask("channels", "show", channel["id"])["host"] == "ntfy.example"
