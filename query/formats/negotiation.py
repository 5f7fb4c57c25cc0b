"""Which format a request asks for: `?format=` goes first, then `Accept`."""

from collections.abc import Sequence

from msgspec import structs
from starlette.requests import Request

from query.formats.output_formats import Format
from schemas.errors import Malformed, NotAcceptable
from schemas.http.asgi import header

MAX_ACCEPT_LENGTH = 1_000


FORMULAS = ("text", "keep")
"""What becomes of texts that a spreadsheet would take for formulas; the first when none is said."""


def negotiate_format(request: Request, formats: Sequence[Format], default: Format) -> Format:
    """The format; Malformed or NotAcceptable with the names of those that there are."""
    format_ = _of_request(request, formats, default)
    formulas = request.query_params.get("formulas", FORMULAS[0])
    if formulas not in FORMULAS:
        raise Malformed(f"'formulas' is '{formulas[:40]}'; it must be text or keep")
    kept = formulas != FORMULAS[0] and format_.unguarded
    return structs.replace(format_, writer=format_.unguarded) if kept else format_


def _of_request(request: Request, formats: Sequence[Format], default: Format) -> Format:
    name = request.query_params.get("format")
    if name is not None:
        return format_by_name(name, formats)
    accepted = (header(request.scope, b"accept") or "")[:MAX_ACCEPT_LENGTH]
    return best_accepted(accepted, formats, default) if accepted.strip() else default


def check_single_query(format_: Format, asked: int) -> None:
    """Malformed when a format that holds one table is to hold several."""
    if asked != 1:
        raise Malformed(
            f"Format '{format_.name}' holds one table, so 'parameters' must name one query type; "
            f"it names {asked}"
        )


def format_by_name(name: str, formats: Sequence[Format]) -> Format:
    """The format of that name."""
    for format_ in formats:
        if format_.name == name:
            return format_
    known = ", ".join(format_.name for format_ in formats)
    raise Malformed(f"'format' is '{name[:40]}'; it must be one of {known}")


def best_accepted(accept: str, formats: Sequence[Format], default: Format) -> Format:
    """The format that an `Accept` header likes best; of equals the one it names first."""
    for media_range in _ranges(accept):
        # The default stands first: `*/*` means what is answered when nothing is asked.
        for format_ in (default, *formats):
            if _matches(media_range, format_.media_type):
                return format_
    raise NotAcceptable(
        "None of the media types of 'Accept' can be given; there are "
        + ", ".join(f"{format_.media_type} ({format_.name})" for format_ in formats)
    )


def _ranges(accept: str) -> list[str]:
    """The media ranges, best liked first; those with `q=0` are not wanted."""
    found = []
    for part in accept.split(","):
        media_range, *parameters = (piece.strip().lower() for piece in part.split(";"))
        liking = next((_quality(p) for p in parameters if p.startswith("q=")), 1.0)
        if liking > 0:
            found.append((-liking, media_range))
    return [media_range for _, media_range in sorted(found, key=lambda each: each[0])]


def _quality(parameter: str) -> float:
    try:
        return float(parameter[2:])
    except ValueError:
        return 1.0


def _matches(media_range: str, media_type: str) -> bool:
    family = media_range.removesuffix("*") if media_range.endswith("/*") else None
    return media_range in ("*/*", media_type) or bool(family and media_type.startswith(family))
