"""Inputs of the build of the dashboard: OpenAPI document, definitions of numbers, bounds of vitals.

python -m deploy.docs.page_sources query/web/generated
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from query.app import OPENAPI_SERVICE
from query.metrics.metrics import METRICS
from query.metrics.money import MONEY_METRICS
from query.metrics.vitals import VITALS
from query.standard.query_types import FAMILIES
from schemas.http.error_bodies import encode_json
from schemas.http.openapi import openapi_document


def definitions() -> Mapping[str, Mapping[str, str]]:
    """Definitions of query types and metrics, in the words of the reference."""
    return {
        "types": {t.name: t.description for family in FAMILIES for t in family},
        "metrics": {metric.name: metric.description for metric in METRICS} | MONEY_METRICS,
    }


def vital_bounds() -> Mapping[str, Mapping[str, object]]:
    """The greatest good value of each vital, and the one above which values are poor."""
    return {v.name: {"good": float(v.good), "poor": float(v.poor), "unit": v.unit} for v in VITALS}


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    sources = {
        "openapi.json": openapi_document(OPENAPI_SERVICE),
        "definitions.json": definitions(),
        "vitals.json": vital_bounds(),
    }
    for name, value in sources.items():
        (folder / name).write_bytes(encode_json(value))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
