import { OTLPLogExporter } from "@opentelemetry/exporter-logs-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchLogRecordProcessor, LoggerProvider } from "@opentelemetry/sdk-logs";

const [host, websiteId] = process.argv.slice(2);
const exporter = new OTLPLogExporter({ url: `${host}/v1/logs?token=${websiteId}` });
const provider = new LoggerProvider({ resource: resourceFromAttributes({ "service.name": "shop" }), processors: [new BatchLogRecordProcessor({ exporter })] });
const logger = provider.getLogger("shop");
const visit = { "session.id": "s1", "user.id": "u1", "url.full": "https://shop.example/cart" };
logger.emit({ eventName: "order", attributes: { ...visit, event_id: "1", total: 49.9, items: ["mug", "cup"], gift: true } });
logger.emit({ eventName: "browser.page_view", body: { title: "Cart" }, attributes: visit });
logger.emit({ eventName: "browser.web_vital", attributes: { ...visit, name: "lcp", value: 1800.5 } });
logger.emit({ severityNumber: 17, attributes: { ...visit, "exception.type": "TypeError", "exception.message": "x is undefined" } });
logger.emit({ body: "started" });
await provider.shutdown();
