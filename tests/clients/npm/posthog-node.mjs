import { PostHog } from "posthog-node";

const [host, token] = process.argv.slice(2);
const posthog = new PostHog(token, { host, flushAt: 20, disableGeoip: true });
const alive = setInterval(() => {}, 1000); // its pauses before a retry do not keep the process
let failed = null;
posthog.on("error", (error) => (failed = error));
posthog.capture({ distinctId: "u1", event: "Order Completed", properties: { total: 49.9, $current_url: "https://shop.example/cart" } });
posthog.capture({ distinctId: "u1", event: "$pageview", properties: { $current_url: "https://shop.example/", $referrer: "https://other.example/x" } });
posthog.capture({ distinctId: "d1", event: "Viewed", properties: { $process_person_profile: false } });
posthog.identify({ distinctId: "u1", properties: { plan: "pro" } });
posthog.alias({ distinctId: "u1", alias: "a0" });
posthog.groupIdentify({ groupType: "company", groupKey: "acme" });
posthog.captureException(new TypeError("x is undefined"), "u1");
await posthog.shutdown();
clearInterval(alive);
if (failed) throw failed;
