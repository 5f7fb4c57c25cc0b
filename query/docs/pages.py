"""Static pages: the API page with the list of query types, and the Python client as one file."""

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from query.standard.query_types import FAMILIES, QUERY_TYPES
from query.standard.type_catalogue import type_config
from schemas.http.docs.pages import API_PAGE_PATH, api_pages, static_endpoint

FOLDER = Path(__file__).parent.parent / "client"
PACKAGE = "query.client"
MODULES = (
    "errors",
    "filters",
    "metric_terms",
    "rows",
    "connection",
    "requests",
    "queries",
    "items",
    "records",
    "client",
)
"""Each after those that it imports."""


@cache
def client_file() -> str:
    """The source of the client; it imports nothing but the standard library."""
    trees = {name: _parse(name) for name in MODULES}
    parts = [f"# {_title(tree)}\n\n\n{_code(name, tree)}" for name, tree in trees.items()]
    head = f'"""{ast.get_docstring(_parse("__init__"), clean=False)}"""'
    return "\n\n".join((head, _imports(trees.values()), *parts))


def _parse(name: str) -> ast.Module:
    return ast.parse((FOLDER / f"{name}.py").read_text())


def _title(tree: ast.Module) -> str:
    return (ast.get_docstring(tree) or "").partition("\n")[0]


def _code(name: str, tree: ast.Module) -> str:
    """The text after docstring and imports."""
    source = (FOLDER / f"{name}.py").read_text()
    first = next(
        node for node in tree.body[1:] if not isinstance(node, ast.Import | ast.ImportFrom)
    )
    decorators = getattr(first, "decorator_list", [])
    line = decorators[0].lineno if decorators else first.lineno
    return "".join(source.splitlines(keepends=True)[line - 1 :])


def _imports(trees: Iterable[ast.Module]) -> str:
    """The imports of all modules, without those of each other."""
    plain: set[str] = set()
    by_module: defaultdict[str | None, set[str]] = defaultdict(set)
    for node in (node for tree in trees for node in tree.body):
        if isinstance(node, ast.Import):
            plain |= {f"import {alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not str(node.module).startswith(PACKAGE):
            by_module[node.module] |= {alias.name for alias in node.names}
    named = [f"from {m} import {', '.join(sorted(names))}" for m, names in by_module.items()]
    return "\n".join((*sorted(plain), *sorted(named)))


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


PAGES = {
    **api_pages("Tidemark Query API", type_list),
    f"{API_PAGE_PATH}/tidemark_client.py": static_endpoint(
        lambda: client_file().encode(), "text/x-python"
    ),
}
"""Endpoints by path."""
