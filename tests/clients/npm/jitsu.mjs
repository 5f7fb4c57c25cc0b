import { jitsuAnalytics } from "@jitsu/js";

const [host, id] = process.argv.slice(2);
const jitsu = jitsuAnalytics({ host, writeKey: `${id}:secret`, errorPolicy: "rethrow" });
jitsu.setAnonymousId("a1");
await jitsu.page({ url: "https://shop.example/cart?utm_source=mail", title: "Cart" });
await jitsu.track("Signed Up", { plan: "pro" });
await jitsu.identify("u1", { plan: "pro" });
await jitsu.group("g1", { name: "Acme" });
