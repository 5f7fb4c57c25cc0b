import { Analytics } from "@segment/analytics-node";

const [host, writeKey] = process.argv.slice(2);
const analytics = new Analytics({ host, writeKey });
const page = { url: "https://shop.example/cart?coupon=1", referrer: "https://other.example/x", title: "Cart" };
analytics.track({
  anonymousId: "a1",
  userId: "u1",
  event: "Order Completed",
  properties: { total: 49.9, currency: "EUR", products: [{ sku: "s1" }] },
  context: { page, locale: "de-DE", timezone: "Europe/Berlin", campaign: { source: "mail", name: "May" } },
});
analytics.page({ anonymousId: "a1", name: "Home", properties: { url: "https://shop.example/", title: "Home" } });
analytics.screen({ anonymousId: "a1", name: "Settings" });
analytics.identify({ anonymousId: "a1", userId: "u1", traits: { plan: "pro" } });
analytics.alias({ userId: "u1", previousId: "a0" });
analytics.group({ userId: "u1", groupId: "g1", traits: { name: "Acme" } });
await analytics.closeAndFlush();
