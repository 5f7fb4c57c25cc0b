import Analytics from "analytics-node";

const [host, writeKey] = process.argv.slice(2);
const analytics = new Analytics(writeKey, { host, flushAt: 20 });
analytics.track({ anonymousId: "a1", event: "Signed Up", properties: { plan: "pro" } });
analytics.page({ anonymousId: "a1", name: "Home", properties: { url: "https://shop.example/" } });
analytics.identify({ anonymousId: "a1", userId: "u1", traits: { plan: "pro" } });
analytics.group({ userId: "u1", groupId: "g1" });
await analytics.flush();
