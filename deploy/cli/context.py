"""What commands share: settings, registry access, options and output of records."""

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
    from schemas.registry.records import Record

as_json = click.option("--json", "json", is_flag=True, help="Print JSON.")

KEY_ADVICE = (
    "Give another key with TIDEMARK_API_KEY or --key-file (the default is the demo's); "
    "`tidemark keys list` and `tidemark websites list` show scopes and organizations"
)
"""What to do when a service denies a key access."""

id_option = click.option(
    "--id", "record_id", metavar="ID", help="Reuse the id of a lost record. Default: a new id."
)


class CliContext(Struct, frozen=True):
    """The object that every command receives."""

    settings: Settings
    umask: int = 0o022
    """The umask of the user, for files that are theirs, not Tidemark's."""
    names_data_folder: bool = False
    """Whether TIDEMARK_DATA_DIR names the data folder; otherwise it is the default."""

    def require_data_folder(self) -> None:
        """Fail when there is no data folder, so that no command creates one in a wrong place."""
        folder = self.settings.data
        if not self.settings.registry and not folder.exists():
            raise click.ClickException(
                f"no data folder here ({folder.absolute()}); nothing has been started; "
                "set TIDEMARK_DATA_DIR or run `make run`"
            )

    def create_data_folder(self) -> None:
        """Create a data folder that is named and does not exist; the default must exist."""
        from deploy.local.preflight import CannotStart, check_folder

        if not self.names_data_folder or self.settings.registry or self.settings.data.exists():
            return
        try:
            check_folder(self.settings)
        except CannotStart as error:
            raise click.ClickException(str(error)) from None

    @contextmanager
    def open_registry(self, creates_folder: bool = False) -> Iterator["RegistryStore"]:
        """The registry, migrated to this version; its errors become one-line messages.

        With `creates_folder` a data folder that TIDEMARK_DATA_DIR names is created.
        """
        if creates_folder:
            self.create_data_folder()
        self.require_data_folder()
        # Imported here: most commands need no registry and no database driver.
        from deploy.local.preflight import RegistryUnavailable
        from deploy.local.registry_startup import cli_actor, error_reason, prepare_registry
        from schemas.registry import DatabaseError, RecordConflict, RecordNotFound, RegistryStore

        try:
            store = RegistryStore(prepare_registry(self.settings), cli_actor())
        except RegistryUnavailable as error:
            raise click.ClickException(str(error)) from None
        try:
            before = store.read_version()
            yield store
            if store.read_version() != before:
                _write_backup(store, self.settings)
        except DatabaseError as error:
            raise click.ClickException(
                f"the registry cannot be used: {error_reason(error)}"
            ) from None
        except (Malformed, RecordNotFound, RecordConflict) as error:
            raise click.UsageError(str(error)) from None
        finally:
            store.close()


def _write_backup(store: "RegistryStore", settings: Settings) -> None:
    """Back up a change at once; the keeper may not run."""
    from schemas.registry.backups import Backups, write_backup

    try:
        write_backup(store, Backups.for_settings(settings), now_ms())
    except OSError as error:
        click.echo(
            f"tidemark: the registry was changed, but no backup was written: {error}", err=True
        )


def _read_key(_context: click.Context, _param: click.Parameter, path: Path | None) -> str | None:
    try:
        return path.read_text().strip() if path else None
    except (OSError, UnicodeDecodeError) as error:
        raise click.BadParameter(f"cannot be read: {error}") from None


def key_options(command: Any) -> Any:
    """Options for an API key; the command receives `key` and `key_file` (the text of the file)."""
    return combine_options(
        click.option(
            "--key",
            envvar=["TIDEMARK_API_KEY", "TIDEMARK_KEY"],
            help="API key. Visible to other users in `ps`; prefer TIDEMARK_API_KEY or --key-file.",
        ),
        click.option(
            "--key-file",
            type=click.Path(dir_okay=False, path_type=Path),
            callback=_read_key,
            help="File that contains only the API key.",
        ),
    )(command)


class InstantParam(click.ParamType):
    """An ISO 8601 time, converted to Unix milliseconds."""

    name = "instant"

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> int:
        try:
            return parse_instant_ms(value)
        except ValueError:
            self.fail(
                f"'{value}' is not an ISO 8601 time such as 2026-12-31T18:00:00Z", param, context
            )


def require_changes(**options: Any) -> dict[str, Any]:
    """The options that were given; an empty text clears a value."""
    named = {name: value for name, value in options.items() if value is not None}
    if not named:
        raise click.UsageError("nothing to change; give at least one option")
    return named


def record_fields(record: "Record", **more: Any) -> dict[str, Any]:
    """A record as the API returns it: wire names, ISO 8601 times, no secrets."""
    fields: dict[str, Any] = msgspec.to_builtins(record)
    unseen = [*getattr(record, "unseen", tuple)(), "secret_hash", "contract", "upload"]
    for field in msgspec.structs.fields(record):
        if field.name in unseen:  # the last two are long
            del fields[field.encode_name]
    if "password" in fields:
        fields["password"] = fields["password"] is not None
    instants = {name: format_instant(fields[name]) for name in fields if name.endswith("At")}
    return {**fields, **instants, **more}


def print_record(fields: Mapping[str, Any], json: bool) -> None:
    """A record as one JSON object, or one line per field."""
    if json:
        return print_json(fields)
    width = max(map(len, fields))
    for name, value in fields.items():
        click.echo(f"{name:{width}}  {_format_value(value)}")
    return None


def print_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], json: bool) -> None:
    """Records as a JSON array, or a table of the given columns."""
    if json:
        return print_json(rows)
    header = [escape_line(column) for column in columns]
    for line in format_table(
        header, [[_format_value(row.get(column)) for column in columns] for row in rows]
    ):
        click.echo(line)
    return None


def print_json(value: object) -> None:
    """Indented JSON, with control characters escaped."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    click.echo(escape_json(text))


def combine_options(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several options as one decorator, listed in the given order."""

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
    if isinstance(value, list | tuple) and any(isinstance(item, dict | list) for item in value):
        return escape_line(msgspec.json.encode(value).decode())
    return escape_line(
        ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    )
