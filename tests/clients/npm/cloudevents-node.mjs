import { CloudEvent, emitterFor, HTTP, httpTransport, Mode } from "cloudevents";

const [host, websiteId] = process.argv.slice(2);
const transport = httpTransport(`${host}/cloudevents?website_id=${websiteId}`);
const order = (id, total) => new CloudEvent({ id, type: "com.example.order", source: "/shop", subject: "anna", data: { total } });
await emitterFor(transport)(order("1", 49.9));
await emitterFor(transport)(order("1", 49.9));
await emitterFor(transport, { binding: HTTP, mode: Mode.STRUCTURED })(order("2", 5));
