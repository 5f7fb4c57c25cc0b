"""Exports log records over OTLP: the collector's address and the id are the arguments."""

import sys
from typing import Any

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource

host, website_id = sys.argv[1:]
url = f"{host}/v1/logs?token={website_id}"
provider = LoggerProvider(resource=Resource({"service.name": "shop"}))
exporter = OTLPLogExporter(url, compression=Compression.Gzip)
provider.add_log_record_processor(BatchLogRecordProcessor(exporter))
logger = provider.get_logger("shop")
visit: dict[str, Any] = {
    "session.id": "s1",
    "user.id": "u1",
    "url.full": "https://shop.example/cart",
}
order = {**visit, "event_id": "1", "total": 49.9, "items": ["mug", "cup"], "gift": True}
for _ in range(2):
    logger.emit(LogRecord(event_name="order", attributes=order))
logger.emit(LogRecord(event_name="browser.page_view", body={"title": "Cart"}, attributes=visit))
vital = {**visit, "name": "lcp", "value": 1800.5}
logger.emit(LogRecord(event_name="browser.web_vital", attributes=vital))
failure = {"exception.type": "ValueError", "exception.message": "no such coupon", **visit}
logger.emit(LogRecord(severity_number=SeverityNumber.ERROR, attributes=failure))
logger.emit(LogRecord(body="started"))
provider.shutdown()
