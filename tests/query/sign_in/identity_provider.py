"""An identity provider of tests: `oidc-provider` in a process, and a person at its login form."""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urljoin

import httpx2
from msgspec import Struct

from query.sign_in.oidc_provider import tls
from tests.installation import free_port
from tests.npm.node_package import FOLDER, node_command, package_file

CLIENT_ID, CLIENT_SECRET = "tidemark", "s3cret-of-the-client"
FORM_ACTION = re.compile(r'<form[^>]* action="([^"]+)"')
PROMPT = re.compile(r'name="prompt" value="(\w+)"')
CANCEL = re.compile(r'<a href="([^"]+/abort)"')


class RunningProvider(Struct, frozen=True):
    """An identity provider that listens."""

    issuer: str

    def sign_in(self, url: str, login: str) -> str:
        """Sign in and consent, as a person does in a new browser; the URL that this leads to."""
        with httpx2.Client(verify=tls()) as browser:
            answer = browser.get(url)
            while not (left := self._left(answer)):
                if answer.is_redirect:
                    answer = browser.get(urljoin(url, answer.headers["location"]))
                    continue
                action, prompt = FORM_ACTION.search(answer.text), PROMPT.search(answer.text)
                assert action is not None, answer.text
                assert prompt is not None, answer.text
                fields = {"prompt": prompt[1], "login": login, "password": "any"}
                answer = browser.post(action[1], data=fields)
            return left

    def cancel(self, url: str) -> str:
        """Cancel at the login form; the URL that this leads to."""
        with httpx2.Client(verify=tls()) as browser:
            form = browser.get(url, follow_redirects=True)
            link = CANCEL.search(form.text)
            assert link is not None, form.text
            answer = browser.get(link[1])
            while not (left := self._left(answer)):
                answer = browser.get(urljoin(url, answer.headers["location"]))
            return left

    def _left(self, answer: httpx2.Response) -> str | None:
        """Where a redirect leads that leaves the provider."""
        location = urljoin(self.issuer, answer.headers.get("location", ""))
        return location if answer.is_redirect and not location.startswith(self.issuer) else None


@contextmanager
def running_provider(
    people: Mapping[str, Any], redirect_uri: str, id_token_has_all: bool = True
) -> Iterator[RunningProvider]:
    """An identity provider with one client; `people` are claims by login.

    Without `id_token_has_all` its ID tokens name only the subject.
    """
    package_file("oidc-provider")
    port = free_port()
    configuration = {
        "client": {
            "client_id": CLIENT_ID,
            "client_secret": CLIENT_SECRET,
            "redirect_uris": [redirect_uri],
        },
        "people": people,
        "idTokenHasAll": id_token_has_all,
    }
    command = node_command(FOLDER / "identity_provider.mjs", str(port), json.dumps(configuration))
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,  # it ends with it
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield RunningProvider(f"http://127.0.0.1:{port}")
        finally:
            process.stdin.close()
