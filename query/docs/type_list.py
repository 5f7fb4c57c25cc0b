"""The query types as a section of the API page: names, description, options, fields."""

from collections.abc import Mapping
from html import escape
from typing import Any

from query.standard.query_types import FAMILIES, QUERY_TYPES
from query.standard.type_catalogue import type_config


def type_list() -> str:
    """The catalogue of `GET /v1/query/types?include_meta=true` as HTML, in its order."""
    types = [query_type for family in FAMILIES for query_type in family]
    entries = "\n".join(_entry(type_config(query_type)) for query_type in types)
    title = f"{len(types)} query types ({len(QUERY_TYPES)} names)"
    return f"""<section aria-labelledby="query-types-title">
<details id="query-types">
<summary><h2 id="query-types-title">{title}</h2></summary>
<p>Names for <code>parameters</code> of <code>POST /v1/query</code>, and the fields of rows.</p>
<p><label>Find a query type or field <input type="search" data-finds="query-type"></label>
<span role="status"></span></p>
{entries}
</details>
</section>"""


def _entry(config: Mapping[str, Any]) -> str:
    names = " or ".join(escape(name) for name in (config["name"], *config["aliases"]))
    fields = "".join(
        f'<tr><th scope="row">{escape(column["name"])}</th>'
        f"<td>{escape(column['type'])}</td><td>{escape(column['unit'] or '')}</td></tr>"
        for column in config["columns"]
    )
    return (
        f'<details class="query-type"><summary><h3>{names}</h3> '
        f"<span>{escape(config['description'])}</span></summary>{_facts(config)}"
        '<table><thead><tr><th scope="col">Field</th><th scope="col">Type</th>'
        f'<th scope="col">Unit</th></tr></thead><tbody>{fields}</tbody></table></details>'
    )


def _facts(config: Mapping[str, Any]) -> str:
    options = QUERY_TYPES[config["name"]].options
    rows = f"{config['defaultLimit']} by default, at most {config['maxLimit']}"
    facts = {
        "Subject": config["subject"],
        "Granularity": ", ".join(config["granularity"]),
        "Options": ", ".join(options.__struct_encode_fields__) if options else "",
        "Required filters": ", ".join(config["requiredFilters"]),
        "Rows": rows if config["defaultLimit"] else "",
    }
    return "".join(f"<p>{name}: {escape(text)}</p>" for name, text in facts.items() if text)
