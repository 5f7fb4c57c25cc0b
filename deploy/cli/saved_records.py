"""`tidemark goals`, `segments`, `annotations`, `money`, `shares`, `funnels`, `aliases`,
`explorations`, `channels`, `alerts`, `boards`, `reports`, `error-statuses`, `path-groups` and
`shields`.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import click
import msgspec
from msgspec import NODEFAULT
from msgspec.structs import FieldInfo, replace

from deploy.cli.context import CliContext, require_changes
from deploy.cli.notices import add_notice_commands
from deploy.cli.record_commands import RecordGroup
from query.resources.saved_references import REFERRED, refuse_unknown
from query.resources.saved_types import (
    SAVED_TYPES,
    SavedType,
    changed_record,
    convert_body,
    description_of,
    given_fields,
    new_record,
    with_secret,
)
from schemas.registry import (
    Alert,
    Alias,
    Annotation,
    Board,
    Channel,
    ErrorStatus,
    Exploration,
    Funnel,
    Goal,
    MoneyProperty,
    PathGroup,
    RegistryStore,
    Report,
    SavedRecord,
    Segment,
    Share,
    Shield,
    Website,
)
from schemas.runtime.clock import now_ms

COLUMNS: Mapping[type[SavedRecord], Sequence[str]] = {
    Goal: ("id", "websiteId", "name", "event", "path", "valueProperty"),
    Segment: ("id", "websiteId", "name", "description"),
    Annotation: ("id", "websiteId", "start", "end", "text"),
    MoneyProperty: ("id", "websiteId", "name", "event", "property", "currency"),
    Share: ("id", "websiteId", "name", "expires", "password", "frameOrigins"),
    Funnel: ("id", "websiteId", "name", "steps", "window", "by", "breakdown", "order"),
    Alias: ("id", "websiteId", "product", "name", "teeUrl"),
    Exploration: ("id", "websiteId", "name", "description", "shape", "createdBy"),
    Channel: ("id", "websiteId", "name", "kind", "host"),
    Alert: ("id", "websiteId", "name", "condition", "threshold", "every", "mutedUntil"),
    Board: ("id", "websiteId", "name", "createdBy"),
    ErrorStatus: ("id", "websiteId", "message", "errorType", "status", "release"),
    Report: ("id", "websiteId", "name", "schedule", "hour", "recipients", "paused"),
    PathGroup: ("id", "websiteId", "name", "paths"),
    Shield: ("id", "websiteId", "name", "kind", "value"),
}
JSON_HELP: Mapping[str, str] = {
    "filters": "JSON array of filters, as in the API.",
    "steps": "JSON array of 2 to 10 steps, as in the API.",
    "exclusions": "JSON array of at most 5 steps that may not lie between the others.",
    "metrics_query": "JSON object, the body of POST /v1/query/metrics.",
    "custom_query": "JSON object, the body of POST /v1/query/custom.",
    "standard_query": "JSON object, the body of POST /v1/query with one query type.",
    "tiles": "JSON array of tiles, as in the API.",
    "window": "Seconds from the first step to the last.",
}
"""Options whose text is JSON."""
LISTS = ("frameOrigins", "recipients", "channels", "explorations", "paths")
"""Options with several texts, separated by commas."""
JSON_VALUES = ("window", "threshold", "hour", "recovery", "compare", "paused")
"""Options that are numbers, true or false."""
TYPED = "-"
"""Value of `--password` without a text."""
ASKED_HELP = (
    "Password; without a text it is asked for, or read from standard input, where other users of "
    "the machine cannot see it."
)
FILTERED_SHARE = (
    "note: the filters choose page views and events. Facts of whole visits, such as exit pages and "
    "paths, may still name other pages and sources; who must not see those needs a website of "
    "their own."
)
METAVARS: Mapping[str, str] = {**dict.fromkeys(JSON_HELP, "JSON"), "window": "SECONDS"}


def _group(saved: SavedType) -> RecordGroup:
    group = RecordGroup(
        saved.record,
        saved.record.plural.replace("_", "-"),
        f"{saved.words.capitalize()} of websites.",
        COLUMNS[saved.record],
        owner="website",
    )

    @group.creates(
        click.option("--website", required=True, metavar="ID", help="Website id."),
        *_options(saved, new=True),
        description=f"Create {saved.a_word}.",
    )
    def create(
        _tidemark: CliContext, store: RegistryStore, website: str, **options: Any
    ) -> tuple[SavedRecord, Mapping[str, object]]:
        body = convert_body(saved.bodies.new, _members(saved, _given(options)))
        owner, secret = store.get(Website, website), _secret(store)
        record = new_record(saved.record, owner, body, now_ms(), secret)
        refuse_unknown(record, _referred(store, website))
        if isinstance(record, Share) and record.filters:
            click.echo(FILTERED_SHARE, err=True)
        return with_secret(record, secret)

    @group.updates(
        *_options(saved, new=False),
        description="Update the given fields; an empty text clears a field.",
    )
    def update(
        _tidemark: CliContext, store: RegistryStore, record_id: str, **options: Any
    ) -> SavedRecord:
        members = _members(saved, require_changes(**options))
        secret = _secret(store)
        changes = given_fields(convert_body(saved.bodies.changes, members), secret)
        record = store.get(saved.record, record_id)
        referred = _referred(store, record.website_id)

        def changed(current: SavedRecord) -> SavedRecord:
            updated = replace(current, **changes)
            refuse_unknown(updated, referred, current)
            return changed_record(current, updated, secret)

        return store.revise(record, now_ms(), changed)

    if saved.record is Alert or saved.record is Report:
        add_notice_commands(group, saved.record)
    return group


def _secret(store: RegistryStore) -> bytes:
    """What seals fields that are never shown again."""
    return store.sign_ins().read(now_ms()).secret


def _referred(store: RegistryStore, website_id: str) -> Mapping[str, SavedRecord]:
    """Records of the website that others name, by id."""
    return {one.id: one for kind in REFERRED for one in store.list(kind, website_id=website_id)}


def _value_rule(field: FieldInfo) -> str:
    return "use true or false" if field.default in (True, False) else "use a number"


def _options(saved: SavedType, new: bool) -> Iterator[Callable[[Any], Any]]:
    """An option for each field that callers set."""
    for field in saved.fields:
        if field.name == "password":
            yield click.option(
                "--password", is_flag=False, flag_value=TYPED, callback=_typed, help=ASKED_HELP
            )
            continue
        text = JSON_HELP.get(field.name) or _help(field)
        yield click.option(
            f"--{field.name.replace('_', '-')}",
            metavar=METAVARS.get(field.name, "TEXT"),
            required=new and field.default is NODEFAULT,
            help=text,
        )


def _typed(_context: click.Context, _option: click.Parameter, password: str | None) -> str | None:
    if password != TYPED:
        return password
    if sys.stdin.isatty():
        return str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    if text := sys.stdin.readline().rstrip("\r\n"):
        return text
    raise click.UsageError("--password: there is no password on standard input")


def _help(field: FieldInfo) -> str:
    text = description_of(field)
    return f"{text[:1].upper()}{text[1:]}."


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _members(saved: SavedType, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options by the names that the API has; those of JSON are decoded."""
    members = {
        field.encode_name: options[field.name] or None
        for field in saved.fields
        if field.name in options
    }
    for name in LISTS:
        if text := members.get(name):
            members[name] = [part.strip() for part in text.split(",") if part.strip()]
    for field in saved.fields:
        if field.name in (*JSON_HELP, *JSON_VALUES) and (text := members.get(field.encode_name)):
            try:
                members[field.encode_name] = msgspec.json.decode(text)
            except msgspec.DecodeError as error:
                option = field.name.replace("_", "-")
                if field.name in JSON_VALUES:
                    raise click.UsageError(
                        f"--{option} is '{text}'; {_value_rule(field)}"
                    ) from None
                raise click.UsageError(f"--{option} is not valid JSON: {error}") from None
    return members


(
    goals,
    segments,
    annotations,
    money,
    shares,
    funnels,
    aliases,
    explorations,
    channels,
    alerts,
    boards,
    reports,
    error_statuses,
    path_groups,
    shields,
) = map(_group, SAVED_TYPES)
