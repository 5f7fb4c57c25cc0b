import { promisify } from "node:util";
import Mixpanel from "mixpanel";

const [host, token] = process.argv.slice(2);
const { hostname, port } = new URL(host);
const mixpanel = Mixpanel.init(token, { host: hostname, port, protocol: "http" });
const events = Array.from({ length: 50 }, (_, number) => ({ event: `Large ${number}`, properties: { distinct_id: "u1", $insert_id: `i${number}`, note: "x".repeat(30_000) } }));
await promisify(mixpanel.track_batch.bind(mixpanel))(events);
