import { Analytics } from "@segment/analytics-node";

const [host, writeKey] = process.argv.slice(2);
const analytics = new Analytics({ host, writeKey, path: "/v1/import" });
for (const number of [1, 2])
  analytics.track({
    userId: "u1",
    event: "Order",
    messageId: `m${number}`,
    properties: { total: number },
    timestamp: new Date(Date.UTC(2019, 2, 1, 12, 0, number)),
  });
analytics.identify({ userId: "u1", traits: { plan: "pro" } });
await analytics.closeAndFlush();
