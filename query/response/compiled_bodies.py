"""Response bodies of `POST /v1/query/compile`."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from query.response.bodies import EngineName

IsPrepared = Annotated[
    bool, Meta(description="whether prepared results answer it, so that the SQL is not run")
]
Reason = Annotated[str, Meta(description="why they do not")]


class TableScan(Struct):
    """Table, version, and rows of the subject in the time range."""

    name: str
    version: int
    rows: int


FurtherStatement = Annotated[
    Literal["page_keys", "newest_rows", "nested_lists", "comparison", "stored_columns"],
    Meta(
        description="`page_keys` runs before the statement, and limits it to their rows; "
        "`newest_rows` to their time; "
        "`stored_columns` completes the rows of prepared results"
    ),
]
Further = Annotated[
    list[FurtherStatement],
    Meta(description="statements that depend on rows, and are not shown"),
]


class ExplainResponse(Struct):
    """SQL and tables of a metrics or custom query."""

    success: Literal[True]
    sql: str
    values: dict[str, Any]
    tables: list[TableScan]
    prepared: IsPrepared
    further: Further | UnsetType = UNSET
    engine: EngineName | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET


class CompiledQuery(Struct):
    """What one standard query would do; or its error."""

    parameter: str
    success: bool
    sql: Annotated[
        str | UnsetType, Meta(description="the statement that reads the stored rows")
    ] = UNSET
    values: dict[str, Any] | UnsetType = UNSET
    tables: list[TableScan] | UnsetType = UNSET
    further: Further | UnsetType = UNSET
    engine: EngineName | UnsetType = UNSET
    prepared: IsPrepared | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET
    error: str | UnsetType = UNSET
    code: str | UnsetType = UNSET


class CompiledQueries(Struct):
    """An entry for each standard query of the request, in its order."""

    success: Literal[True]
    failed: int
    data: list[CompiledQuery]
