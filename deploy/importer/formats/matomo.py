"""Matomo: the visits log as a table; as JSON it is read by `visits_log.py`."""

from deploy.importer.formats.export_format import ExportFormat

FORMATS = (
    ExportFormat(
        "Matomo (visits log as a table)",
        frozenset(("idVisit", "visitorId")),
        refusal="each line is a visit with several actions. Export it as JSON instead "
        "(method=Live.getLastVisitsDetails&format=JSON), and write one visit per line: "
        "jq -c '.[]' visits.json > visits.ndjson",
    ),
)
