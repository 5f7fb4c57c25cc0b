"""Output of results and exports: tables, JSON, file formats."""

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, BinaryIO

import click

from deploy.cli.context import print_json, print_rows
from deploy.cli.query_options import with_option_names
from deploy.local.terminal import escape_line, escape_lines
from query.client import Rows, ServiceError
from query.formats.output_formats import FILE_FORMATS

FILE_FORMAT_NAMES = [format_.name for format_ in FILE_FORMATS]
TEXT_FORMATS = ("csv", "ndjson")
PROGRESS_BYTES = 8 * 2**20


def print_results(results: Mapping[str, Rows | ServiceError], json: bool) -> None:
    """Print the results; then fail with the reasons if any query type failed."""
    errors = [str(outcome) for outcome in results.values() if isinstance(outcome, ServiceError)]
    good = {name: rows for name, rows in results.items() if isinstance(rows, Rows)}
    if json:
        print_json(good)
    else:
        for name, rows in good.items():
            if len(good) > 1:
                click.echo(f"{name}:")
            print_table(rows)
    if errors:
        raise click.ClickException(with_option_names("; ".join(errors)))


def print_compiled(compiled: Mapping[str, Mapping[str, Any]], json: bool) -> None:
    """What queries would do, by name: the statement, and what it would read."""
    if json:
        print_json(compiled)
        return
    for name, query in compiled.items():
        click.echo(f"-- {name}")
        for table in query["tables"]:
            click.echo(f"-- {table['rows']:,} rows of {table['name']}, version {table['version']}")
        if "engine" in query:
            click.echo(f"-- engine: {query['engine']}")
        if "prepared" in query:
            known = "answer it" if query["prepared"] else f"do not: {query['reason']}"
            click.echo(f"-- prepared results {known}")
        for further in query.get("further", ()):
            click.echo(f"-- further statements: {further}")
        click.echo("\n".join(map(escape_line, f"{query['sql']};".splitlines())))


def print_table(rows: Rows) -> None:
    """Rows as a table, with the warnings of the answer and the annotations of a series below it."""
    print_rows(rows, list(rows[0]) if rows else ["no rows"], json=False)
    total = getattr(rows, "meta", {}).get("totalRows") or 0
    if total > len(rows):
        text = f"{len(rows):,} of {total:,} rows; --limit and --page give others"
        click.echo(text, err=True)
    for warning in getattr(rows, "meta", {}).get("warnings", ()):
        click.echo(escape_line(f"warning: {warning['message']}"), err=True)
    for note in getattr(rows, "meta", {}).get("annotations", ()):
        end = f" to {note['end']}" if note.get("end") else ""
        link = f" ({note['link']})" if note.get("link") else ""
        click.echo(escape_line(f"annotation {note['start']}{end}: {note['text']}{link}"))


def write_output(chunks: Iterable[bytes], format_: str) -> None:
    """Write to standard output; on a terminal, control characters are escaped."""
    if sys.stdout.isatty():
        if format_ not in TEXT_FORMATS:
            raise click.UsageError(
                f"{format_} is a binary format; redirect it to a file or use --output"
            )
        chunks = escape_lines(chunks)
    copy_to(sys.stdout.buffer, chunks)


def copy_to(
    file: BinaryIO, chunks: Iterable[bytes], report: Callable[[int], None] | None = None
) -> int:
    """Write all chunks; the number of bytes, also to `report` now and then."""
    size = reported = 0
    for chunk in chunks:
        size += file.write(chunk)
        if report and size - reported >= PROGRESS_BYTES:
            reported = size
            report(size)
    file.flush()
    return size


def print_progress(size: int) -> None:
    """The number of bytes, on a terminal."""
    if sys.stderr.isatty():
        click.echo(f"\r{size / 2**20:,.0f} MiB", err=True, nl=False)
