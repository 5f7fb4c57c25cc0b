"""Hidden rows: the condition that leaves out the rows of erasures that are not carried out yet."""

from collections.abc import Mapping, Sequence

from query.request.hidden_values import HiddenValues
from query.request.operators import BY_NAME
from query.request.property_path import PropertyPath
from query.sql.fragment import Fragment, all_of
from schemas.registry import Selector
from schemas.tables import Table

VALUE_COLUMNS: Mapping[Selector, Sequence[str]] = {
    Selector.VISITOR: ("anonymous_id",),
    Selector.PROFILE: ("profile_id",),
    Selector.SESSION: ("session_id",),
    Selector.DEVICE: ("anonymous_id",),
    Selector.PROPERTY: ("properties", "traits"),
}


def shows_rows(hidden: Sequence[HiddenValues], table: Table, is_historic: bool) -> Fragment:
    """The condition that a row of a version of a table is not hidden."""
    conditions = []
    for number, values in enumerate(hidden):
        if not values.is_pending and not is_historic:
            continue
        if values.subject and table.column(values.subject_column) is None:
            continue
        columns = [name for name in VALUE_COLUMNS[values.selector] if table.column(name)]
        of_nobody_else = ""
        if values.selector is Selector.DEVICE and table.column("profile_id"):
            of_nobody_else = " AND profile_id IS NULL"
        conditions += [
            _condition(values, column, f"hidden_{number}", of_nobody_else) for column in columns
        ]
    return all_of(*conditions)


def _condition(values: HiddenValues, column: str, name: str, more: str) -> Fragment:
    bound: dict[str, object] = {name: list(values.values)}
    text = column
    if values.selector is Selector.PROPERTY:
        pointer = values.property_name.replace("~", "~0").replace("/", "~1")
        path = PropertyPath(f"{name}_path", f"/{pointer}", column)
        text, bound[path.parameter] = path.text, path.pointer
    operator = BY_NAME["in"].sql_for(len(values.values))
    is_hidden = operator.format(column=text, value=f"${name}")
    if values.subject:
        is_hidden = f"{values.subject_column} = ${name}_subject AND {is_hidden}"
        bound[f"{name}_subject"] = values.subject
    return Fragment(f"({is_hidden}{more}) IS DISTINCT FROM TRUE", bound)
