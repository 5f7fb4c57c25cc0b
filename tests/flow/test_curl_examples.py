"""The examples of ingest/curl.md: each command gets the response printed below it."""

import json
import re
import shlex
from pathlib import Path
from string import Template
from typing import Any

from tests.flow.tenant import Tenant
from tests.http_client import Reply, call

PAGE = Path(__file__).parents[2] / "ingest" / "curl.md"
EXAMPLE = re.compile(r"```sh\n(curl .*?)```\n```json\n(.*?)```", re.DOTALL)
ANYTHING = "…"


def run(command: str, names: dict[str, str]) -> Reply:
    """Sends what curl would send, without curl; supports the options that the page uses."""
    words = iter(shlex.split(Template(command.replace("\\\n", " ")).substitute(names))[1:])
    url, body = "", b""
    headers = {"user-agent": "curl/8.5.0", "content-type": "application/x-www-form-urlencoded"}
    for word in words:
        if word == "-H":
            name, _, value = next(words).partition(": ")
            headers[name] = value
        elif word == "-A":
            headers["user-agent"] = next(words)
        elif word == "-d":
            body = next(words).encode()
        elif word != "-s":
            url = word
    return call("POST", url, body, headers)


def same(response_body: Any, shown: Any) -> bool:
    """Whether an answer is what is shown, where that says what it is."""
    if isinstance(shown, dict) and isinstance(response_body, dict):
        return shown.keys() == response_body.keys() and all(
            same(response_body[k], shown[k]) for k in shown
        )
    if isinstance(shown, list) and isinstance(response_body, list):
        return len(shown) == len(response_body) and all(map(same, response_body, shown))
    return bool(shown in (ANYTHING, response_body))


def test_every_command_of_the_page_answers_what_is_shown(tenant: Tenant) -> None:
    names = {
        "COLLECT": tenant.stack.collect_url,
        "QUERY": tenant.stack.query_url,
        "KEY": tenant.key,
        "SITE": tenant.website.id,
    }
    examples = EXAMPLE.findall(PAGE.read_text())

    assert len(examples) == PAGE.read_text().count("\ncurl ")
    for command, shown in examples:
        response_body = run(command, names).json
        assert same(response_body, json.loads(shown)), (command, response_body)
