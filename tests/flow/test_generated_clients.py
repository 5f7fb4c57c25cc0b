"""Clients generated from the OpenAPI documents: complete, typed, and able to read responses."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from ingest.app import collector_api
from query.app import OPENAPI_SERVICE
from schemas.http.openapi import ApiDescription, openapi_document
from tests.flow.tenant import DAY, Tenant
from tests.installation import Installation
from tests.npm.node_package import run_script

SERVICES: dict[str, ApiDescription] = {"query": OPENAPI_SERVICE, "collector": collector_api()}

READ_AS = {
    "image/gif": "application/octet-stream",
    "image/svg+xml": "text/plain",
    "application/zip": "application/octet-stream",
}
"""How the Python generator reads types that it does not know."""

ANSWER = re.compile(r"^def _parse_response\(.*?^\) -> (.*?):$", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both documents and a Python client of each."""
    folder = tmp_path_factory.mktemp("clients")
    for name, service in SERVICES.items():
        (folder / f"{name}.json").write_text(json.dumps(openapi_document(service)))
    return folder


@pytest.fixture(scope="module")
def clients(folder: Path) -> Iterator[Path]:
    """A folder with the Python packages `query_client` and `collector_client`."""
    for name in SERVICES:
        generate(folder, name)
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


def generate(folder: Path, name: str) -> None:
    config = {"content_type_overrides": READ_AS, "post_hooks": []}
    (folder / "config.json").write_text(json.dumps(config))
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--meta=none"]
    options = {"path": f"{name}.json", "output-path": f"{name}_client", "config": "config.json"}
    given = [f"--{option}={value}" for option, value in options.items()]
    done = subprocess.run(
        [*command, "--fail-on-warning", *given],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def without_body(service: ApiDescription) -> set[str]:
    """Operations with a response that has no body, such as a redirect."""
    return {
        re.sub(r"(?<!^)(?=[A-Z])|-", "_", operation.operation_id).lower()
        for operation in service.operations
        if any(
            response.body is None and not response.media_types for response in operation.responses
        )
    }


@pytest.mark.parametrize("name", SERVICES)
def test_every_answer_of_a_python_client_has_a_type(clients: Path, name: str) -> None:
    answers = {
        path.stem: ANSWER.findall(path.read_text())
        for path in (clients / f"{name}_client" / "api").glob("*/*.py")
        if path.stem != "__init__"
    }

    untyped = {stem for stem, [answer] in answers.items() if re.search(r"\bAny\b", answer)}
    assert len(answers) == len(SERVICES[name].operations)
    assert untyped == without_body(SERVICES[name])


@pytest.mark.parametrize("name", SERVICES)
def test_typescript_takes_the_types_of_a_document(folder: Path, name: str) -> None:
    types, use = f"{name}.d.ts", f"use_{name}.ts"
    printed = run_script(
        "openapi-typescript/bin/cli.js", f"{name}.json", "--output", types, folder=folder
    )
    (folder / use).write_text(TYPESCRIPT[name])
    run_script("typescript/bin/tsc", "--noEmit", "--strict", use, folder=folder)

    assert not re.search("warn|⚠", printed, re.IGNORECASE), printed


TYPESCRIPT = {
    "query": """
import type { components } from "./query";
type Schemas = components["schemas"];
export const found = (answer: Schemas["StandardResponse"]): string[] =>
  answer.data.map(({ parameter, data }) => parameter + data.length);
export const rows: Schemas["RowsByQueryType"]["summary_metrics"] | undefined = undefined;
""",
    "collector": """
import type { paths } from "./collector";
type Answer = paths["/health"]["get"]["responses"][200]["content"]["application/json"];
export const status = (answer: Answer): string => answer.status;
""",
}
"""Programs that use the types; a type that is `any` or `unknown` would not be enough for them."""


@pytest.fixture(scope="module")
def caller(stack: Installation) -> Tenant:
    return Tenant.create(stack)


@pytest.fixture(scope="module")
def called(clients: Path, caller: Tenant) -> Callable[..., Any]:
    """Calls an operation of a generated client; the parsed response."""

    def called(name: str, operation: str, *arguments: object, **parameters: object) -> Any:
        package = f"{name}_client"
        stack = caller.stack
        client = import_module(package).AuthenticatedClient(
            base_url=stack.query_url if name == "query" else stack.collect_url,
            token=caller.key,
            prefix="",
            auth_header_name="x-api-key",
        )
        module = import_module(f"{package}.api.{operation}")
        with client:
            return module.sync_detailed(*arguments, client=client, **parameters)

    return called


def test_responses_of_the_query_service_are_read(
    called: Callable[..., Any], caller: Tenant
) -> None:
    models = import_module("query_client.models")
    dates = {"startDate": str(DAY), "endDate": str(DAY)}
    count = {"table": "events", "selects": [{"field": "*", "aggregate": "count"}]}
    standard = models.StandardRequestBody.from_dict({"parameters": ["summary", "nothing"], **dates})
    custom = models.CustomRequest.from_dict({"query": count, **dates})
    website = {"website_id": caller.website.id}

    answer = called("query", "queries.run_queries", body=standard, **website).parsed
    batch = called("query", "queries.run_queries", body=[standard], **website).parsed
    refused = called("query", "queries.run_queries", body=standard, website_id="web_other")
    counted = called("query", "queries.run_custom_query", body=custom, **website).parsed
    types = called("query", "queries.list_query_types").parsed
    link = called("query", "links.show_link", caller.link.id).parsed

    assert isinstance(answer, models.StandardResponse)
    assert [outcome.success for outcome in answer.data] == [True, False]
    assert isinstance(batch, models.BatchResponse)
    assert (refused.status_code, type(refused.parsed)) == (403, models.ErrorResponse)
    assert isinstance(counted, models.CustomResponse)
    assert "summary_metrics" in types.types
    assert link.data.id == caller.link.id


def test_responses_of_the_collector_are_read(called: Callable[..., Any], caller: Tenant) -> None:
    models = import_module("collector_client.models")
    event = models.CustomEvent.from_dict({"name": "signup", "anonymousId": "anna"})

    answer = called("collector", "collect.track", body=event, website_id=caller.website.id).parsed
    health = called("collector", "health.health").parsed
    image = called("collector", "links.code", caller.link.slug).parsed

    assert (answer.status, answer.count) == ("success", 1)
    assert health.status == "ok"
    assert image.startswith("<svg")
