import Analytics from "@rudderstack/rudder-sdk-node";

const [host, writeKey] = process.argv.slice(2);
const analytics = new Analytics(writeKey, { dataPlaneUrl: `${host}/rudderstack`, flushAt: 20 });
analytics.track({ anonymousId: "a1", event: "Signed Up", properties: { plan: "pro" } });
analytics.page({ anonymousId: "a1", name: "Home", properties: { url: "https://shop.example/" } });
analytics.screen({ anonymousId: "a1", name: "Settings" });
analytics.identify({ anonymousId: "a1", userId: "u1", traits: { plan: "pro" } });
analytics.alias({ userId: "u1", previousId: "a0" });
analytics.group({ userId: "u1", groupId: "g1" });
await new Promise((resolve, reject) => analytics.flush((error) => (error ? reject(error) : resolve())));
process.exit(0);
