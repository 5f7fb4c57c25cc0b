"""The operations on imports."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from query.docs.components import PageMeta
from query.docs.page_parameters import page_of
from query.resources.imports import NewImport
from schemas.errors import (
    Conflict,
    Failure,
    Forbidden,
    LimitExceeded,
    Malformed,
    NotFound,
    TooLarge,
    TooSlow,
    Unauthorized,
    Unavailable,
)
from schemas.http.openapi import Answer, Operation, Parameter
from schemas.registry import ImportState

REFUSED: tuple[type[Failure], ...] = (Unauthorized, Forbidden, LimitExceeded, Unavailable)

ID = Parameter("import_id", "the import", required=True, within="path")


class ShownImport(Struct, rename="camel"):
    """An import: what was taken and refused so far, and what its undoing removed."""

    id: str
    organization_id: str
    website_id: str
    name: str
    state: ImportState
    accepted: int
    rejected: int
    removed: int
    created_at: str
    updated_at: str
    stored: int | UnsetType = UNSET
    """Rows in the table."""


class ImportAnswer(Struct):
    """One import."""

    success: Literal[True]
    data: ShownImport


class ImportsAnswer(Struct):
    """One page of imports."""

    success: Literal[True]
    data: list[ShownImport]
    meta: PageMeta


IMPORTS = (
    Operation(
        method="POST",
        path="/v1/imports",
        name="createImport",
        group="Imports",
        meaning="Open an import of history",
        more="Events go into it by POST /import of the collector. The key needs `manage:websites`. "
        "An organization has at most 1,000 imports; those that were undone make room.",
        body=NewImport,
        examples={},
        answers=(Answer(201, "the import", ImportAnswer),),
        failures=(*REFUSED, Malformed, Conflict, TooSlow, TooLarge),
    ),
    Operation(
        method="GET",
        path="/v1/imports",
        name="listImports",
        group="Imports",
        meaning="List imports, oldest first",
        parameters=(
            Parameter("websiteId", "only those of this website"),
            *page_of("imports"),
        ),
        answers=(Answer(200, "one page", ImportsAnswer),),
        failures=(*REFUSED, Malformed),
    ),
    Operation(
        method="GET",
        path="/v1/imports/{import_id}",
        name="showImport",
        group="Imports",
        meaning="Show an import, and how many rows of it are stored",
        parameters=(ID,),
        answers=(Answer(200, "the import", ImportAnswer),),
        failures=(*REFUSED, NotFound),
    ),
    Operation(
        method="DELETE",
        path="/v1/imports/{import_id}",
        name="undoImport",
        group="Imports",
        meaning="Take an import back",
        more="Nothing more is taken for it; the keeper removes exactly its rows, at one moment. "
        "Its state says `undone` then.",
        parameters=(ID,),
        answers=(Answer(202, "it is being undone", ImportAnswer),),
        failures=(*REFUSED, NotFound),
    ),
)
