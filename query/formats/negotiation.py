"""Content negotiation: `?format=`, then `Accept`."""

from collections.abc import Sequence

from msgspec import structs
from starlette.requests import Request

from query.formats.output_formats import FILE_FORMATS, FORMATS, JSON, Format
from schemas.errors import Malformed, NotAcceptable
from schemas.http.asgi import header
from schemas.http.openapi import Parameter

MAX_ACCEPT_LENGTH = 1_000


FORMULAS = ("text", "keep")
"""Escape text that a spreadsheet would run as a formula, or keep it; default: escape."""

FILE_MEDIA_TYPES = tuple(format_.media_type for format_ in FILE_FORMATS)


def format_parameters(formats: Sequence[Format], default: Format) -> tuple[Parameter, ...]:
    """The OpenAPI parameters of an endpoint with these formats."""
    return (
        Parameter(
            "format",
            "response format; overrides Accept. Formats other than json support a single query",
            {
                "type": "string",
                "enum": [format_.name for format_ in formats],
                "default": default.name,
            },
        ),
        Parameter(
            "formulas",
            "in CSV: `text` puts an apostrophe before values that a spreadsheet would run as "
            "formulas; `keep` leaves them unchanged",
            {"type": "string", "enum": list(FORMULAS), "default": FORMULAS[0]},
        ),
        Parameter(
            "bom",
            "begin CSV with a byte order mark, by which Excel on Windows knows that it is UTF-8",
            {"type": "boolean", "default": False},
        ),
    )


FORMAT_PARAMETERS = format_parameters(FORMATS, JSON)


def negotiate_format(request: Request, formats: Sequence[Format], default: Format) -> Format:
    """The requested format; Malformed or NotAcceptable lists the supported ones."""
    format_ = _of_request(request, formats, default)
    formulas = request.query_params.get("formulas", FORMULAS[0])
    if formulas not in FORMULAS:
        raise Malformed(f"'formulas' is '{formulas[:40]}'; it must be text or keep")
    if formulas != FORMULAS[0] and format_.unguarded:
        format_ = format_.unguarded
    return _with_mark(format_, request.query_params.get("bom", "false"))


def _with_mark(format_: Format, bom: str) -> Format:
    """The format with a byte order mark, if it is asked for."""
    if bom not in ("true", "false"):
        raise Malformed(f"'bom' is '{bom[:40]}'; it must be true or false")
    if bom == "false":
        return format_
    if format_.with_mark is None:
        raise Malformed(f"'bom' is for format csv; the format is {format_.name}")
    return structs.replace(format_, writer=format_.with_mark)


def _of_request(request: Request, formats: Sequence[Format], default: Format) -> Format:
    name = request.query_params.get("format")
    if name is not None:
        return format_by_name(name, formats)
    accepted = (header(request.scope, b"accept") or "")[:MAX_ACCEPT_LENGTH]
    return best_accepted(accepted, formats, default) if accepted.strip() else default


def check_single_query(format_: Format, query_count: int) -> None:
    """Malformed when a file format is requested for several queries."""
    if query_count != 1:
        raise Malformed(
            f"Format '{format_.name}' supports one query, so 'parameters' must name one query "
            f"type; it names {query_count}"
        )


def format_by_name(name: str, formats: Sequence[Format]) -> Format:
    """The format of that name."""
    for format_ in formats:
        if format_.name == name:
            return format_
    known = ", ".join(format_.name for format_ in formats)
    raise Malformed(f"'format' is '{name[:40]}'; it must be one of {known}")


def best_accepted(accept: str, formats: Sequence[Format], default: Format) -> Format:
    """The format with the highest quality in an `Accept` header; the first of equals."""
    for media_range in _ranges(accept):
        # The default comes first: `*/*` selects it.
        for format_ in (default, *formats):
            if _matches(media_range, format_.media_type):
                return format_
    raise NotAcceptable(
        "None of the media types in 'Accept' is supported; supported are "
        + ", ".join(f"{format_.media_type} ({format_.name})" for format_ in formats)
    )


def _ranges(accept: str) -> list[str]:
    """The media ranges by descending quality; `q=0` is left out."""
    ranges = []
    for part in accept.split(","):
        media_range, *parameters = (piece.strip().lower() for piece in part.split(";"))
        quality = next((_quality(p) for p in parameters if p.startswith("q=")), 1.0)
        if quality > 0:
            ranges.append((-quality, media_range))
    return [media_range for _, media_range in sorted(ranges, key=lambda item: item[0])]


def _quality(parameter: str) -> float:
    try:
        return float(parameter[2:])
    except ValueError:
        return 1.0


def _matches(media_range: str, media_type: str) -> bool:
    family = media_range.removesuffix("*") if media_range.endswith("/*") else None
    return media_range in ("*/*", media_type) or bool(family and media_type.startswith(family))
