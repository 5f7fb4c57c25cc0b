"""Runs the query that `make run` printed; fails unless every part has a result."""

import json
import shlex
import sys
import urllib.request
from pathlib import Path


def main() -> None:
    """Parse the printed `curl` command, send the same request, and check the response."""
    text = Path(sys.argv[1]).read_text()
    words = shlex.split(text[text.index("curl ") :].split("\n\n")[0].replace("\\\n", " "))
    headers_given = [words[i + 1] for i, word in enumerate(words) if word == "-H"]
    header_lines = [
        Path(text[1:]).read_text().strip() if text.startswith("@") else text
        for text in headers_given
    ]
    headers = [line.split(": ", 1) for line in header_lines]
    request = urllib.request.Request(  # noqa: S310 - our own address, as printed
        next(word for word in words if word.startswith("http")),
        words[words.index("-d") + 1].encode(),
        dict(headers),
    )
    with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310
        result = json.load(response)
    sys.stdout.write(f"{json.dumps(result)[:1000]}\n")
    empty = [part["parameter"] for part in result["data"] if not (part["success"] and part["data"])]
    if empty or not result["data"]:
        raise SystemExit(f"no result for {empty}")


if __name__ == "__main__":
    main()
