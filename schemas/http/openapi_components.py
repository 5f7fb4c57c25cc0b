"""Component schemas of an OpenAPI document: names for users, types that generators take."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

Schema = dict[str, Any]

REF_PREFIX = "#/components/schemas/"


class SchemaNameTaken(Exception):
    """Two types would have the same name in the document."""


def component_schemas(
    types: Sequence[Any], names: Mapping[type, str]
) -> tuple[dict[Any, Schema], dict[str, Schema]]:
    """The schema of each type, and the components that these refer to.

    `names` holds the names of types that the document shows under another one.
    """
    every_type = list(dict.fromkeys((*types, *names)))
    schemas, components = msgspec.json.schema_components(
        every_type, ref_template=f"{REF_PREFIX}{{name}}"
    )
    type_schemas = dict(zip(every_type, schemas, strict=True))
    given = {_component_name(type_schemas[type_]): name for type_, name in names.items()}
    new_names = _new_names(components, given)
    renamed = {
        new_names[name]: _rewrite({**schema, "title": new_names[name]}, new_names)
        for name, schema in components.items()
    }
    return {type_: _rewrite(type_schemas[type_], new_names) for type_ in types}, renamed


def _component_name(schema: Schema) -> str:
    return str(schema["$ref"]).removeprefix(REF_PREFIX)


def _new_names(components: Mapping[str, Schema], given: Mapping[str, str]) -> dict[str, str]:
    """The name of each component in the document, without the modules of equal names."""
    new_names = {name: given.get(name) or name.rpartition(".")[2] for name in components}
    by_name: dict[str, str] = {}
    for name, new_name in new_names.items():
        if new_name in by_name:
            raise SchemaNameTaken(f"{name} and {by_name[new_name]} would both be {new_name}")
        by_name[new_name] = name
    return new_names


def _rewrite(value: Any, new_names: Mapping[str, str]) -> Any:
    """The schema with new names, and with `boolean` instead of a list of one truth value.

    Client generators drop every type that has `enum: [true]`.
    """
    if isinstance(value, list):
        return [_rewrite(item, new_names) for item in value]
    if not isinstance(value, dict):
        return value
    rewritten = {name: _rewrite(item, new_names) for name, item in value.items()}
    if "$ref" in value:
        rewritten["$ref"] = REF_PREFIX + new_names[_component_name(value)]
    if value.get("enum") in ([True], [False]):
        only = rewritten.pop("enum")[0]
        rewritten = {"type": "boolean", "description": f"always {str(only).lower()}", **rewritten}
    return rewritten


def schema_name(name: str) -> str:
    """A name in snake case as the name of a schema: `top_pages` is `TopPages`."""
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[_\W]+", name))
