"""What every command uses: the settings, the registry, and the two ways to print."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec import Struct

from deploy.local.terminal import escape_json, escape_line, format_table
from schemas.errors import Malformed
from schemas.runtime.clock import format_instant, now_ms, parse_instant_ms
from schemas.runtime.settings import Settings

if TYPE_CHECKING:
    from schemas.registry import RegistryStore
    from schemas.registry.record_mapping import Record

as_json = click.option("--json", "json", is_flag=True, help="Print JSON.")

id_option = click.option(
    "--id", "record_id", metavar="ID", help="The id of one that was lost; new when not given."
)


class CliContext(Struct, frozen=True):
    """What is handed to every command."""

    settings: Settings
    umask: int = 0o022
    """That of the person: for files that are theirs, not Tidemark's."""

    @contextmanager
    def open_registry(self) -> Iterator["RegistryStore"]:
        """The registry, in this version's form; what it refuses becomes one line."""
        # Commands that need no registry do without it and its database driver.
        from deploy.local.preflight import RegistryUnavailable
        from deploy.local.registry_startup import cli_actor, error_reason, prepare_registry
        from schemas.registry import DatabaseError, RecordConflict, RecordNotFound, RegistryStore

        try:
            store = RegistryStore(prepare_registry(self.settings), cli_actor())
        except RegistryUnavailable as away:
            raise click.ClickException(str(away)) from None
        try:
            before = store.read_version()
            yield store
            if store.read_version() != before:
                _write_backup(store, self.settings)
        except DatabaseError as away:
            raise click.ClickException(
                f"the registry cannot be used: {error_reason(away)}"
            ) from None
        except (Malformed, RecordNotFound, RecordConflict) as refused:
            raise click.UsageError(str(refused)) from None
        finally:
            store.close()


def _write_backup(store: "RegistryStore", settings: Settings) -> None:
    """What was changed comes back, too, when the registry is lost before the keeper looks."""
    from schemas.registry.backups import Backups, write_backup

    try:
        write_backup(store, Backups.for_settings(settings), now_ms())
    except OSError as refused:
        click.echo(f"tidemark: no backup of the registry was written: {refused}", err=True)


def _read_key(_context: click.Context, _param: click.Parameter, path: Path | None) -> str | None:
    try:
        return path.read_text().strip() if path else None
    except (OSError, UnicodeDecodeError) as refused:
        raise click.BadParameter(f"cannot be read: {refused}") from None


def key_options(command: Any) -> Any:
    """The options of an API key; the command gets `key` and `key_file`, which holds its text."""
    return combine_options(
        click.option(
            "--key",
            envvar=["TIDEMARK_API_KEY", "TIDEMARK_KEY"],
            help="API key. Others see it in `ps`: better TIDEMARK_API_KEY, or --key-file.",
        ),
        click.option(
            "--key-file",
            type=click.Path(dir_okay=False, path_type=Path),
            callback=_read_key,
            help="A file that holds the API key and nothing else.",
        ),
    )(command)


class InstantParam(click.ParamType):
    """An ISO 8601 instant, kept as Unix milliseconds."""

    name = "instant"

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> int:
        try:
            return parse_instant_ms(value)
        except ValueError:
            self.fail(f"'{value}' is no instant such as 2026-12-31T18:00:00Z", param, context)


def require_changes(**options: Any) -> dict[str, Any]:
    """The options that were given; an empty text takes a value away."""
    named = {name: value for name, value in options.items() if value is not None}
    if not named:
        raise click.UsageError("nothing to change: give at least one option")
    return named


def record_fields(record: "Record", **more: Any) -> dict[str, Any]:
    """A record as the API shows it: wire names, instants as ISO 8601, nothing secret."""
    fields: dict[str, Any] = msgspec.to_builtins(record)
    fields.pop("secretHash", None)
    instants = {name: format_instant(fields[name]) for name in fields if name.endswith("At")}
    return {**fields, **instants, **more}


def print_record(fields: Mapping[str, Any], json: bool) -> None:
    """One object, or a line for each field."""
    if json:
        return print_json(fields)
    width = max(map(len, fields))
    for name, value in fields.items():
        click.echo(f"{name:{width}}  {_format_value(value)}")
    return None


def print_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], json: bool) -> None:
    """An array, or a table of the named columns."""
    if json:
        return print_json(rows)
    header = [escape_line(column) for column in columns]
    for line in format_table(
        header, [[_format_value(row.get(column)) for column in columns] for row in rows]
    ):
        click.echo(line)
    return None


def print_json(value: object) -> None:
    """JSON for a person or a program."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    click.echo(escape_json(text))


def combine_options(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several options as one decorator, in the order given."""

    def decorate(command: Any) -> Any:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


def _format_value(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, dict):
        return escape_line(", ".join(f"{name}={item}" for name, item in value.items()) or "–")
    return escape_line(
        ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    )
