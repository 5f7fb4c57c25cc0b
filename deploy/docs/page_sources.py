"""Inputs of the build of the dashboard: the OpenAPI document, and the definition of each number.

python -m deploy.docs.page_sources query/web/generated
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from query.app import OPENAPI_SERVICE
from query.metrics.metrics import METRICS
from query.standard.query_types import FAMILIES
from schemas.http.error_bodies import encode_json
from schemas.http.openapi import openapi_document


def definitions() -> Mapping[str, Mapping[str, str]]:
    """What each query type and each metric means, in the words of the reference."""
    return {
        "types": {t.name: t.description for family in FAMILIES for t in family},
        "metrics": {metric.name: metric.description for metric in METRICS},
    }


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    sources = {"openapi.json": openapi_document(OPENAPI_SERVICE), "definitions.json": definitions()}
    for name, value in sources.items():
        (folder / name).write_bytes(encode_json(value))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
