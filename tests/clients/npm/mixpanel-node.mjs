import { promisify } from "node:util";
import Mixpanel from "mixpanel";

const [host, token] = process.argv.slice(2);
const { hostname, port } = new URL(host);
const mixpanel = Mixpanel.init(token, { host: hostname, port, protocol: "http" });
const verbose = Mixpanel.init(token, { host: hostname, port, protocol: "http", verbose: true });
const call = (target, name, ...values) => promisify(target[name].bind(target))(...values);
await call(mixpanel, "track", "Order Completed", { distinct_id: "u1", $user_id: "u1", $insert_id: "i1", total: 49.9, note: "Größe >?~" });
await call(mixpanel, "track_batch", [
  { event: "$mp_web_page_view", properties: { distinct_id: "$device:d1", $device_id: "d1", $insert_id: "i2", $current_url: "https://shop.example/cart", current_page_title: "Cart" } },
  { event: "Noted", properties: { distinct_id: "u1", $insert_id: "i3", note: "ÿ>>>???~~~ü" } },
]);
await call(mixpanel, "alias", "a0", "u1");
await call(verbose.people, "set", "u1", { plan: "pro" });
await call(verbose.people, "set_once", "u1", { first: "mail" });
await call(verbose.people, "increment", "u1", "visits");
