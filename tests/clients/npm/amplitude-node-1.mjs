import { Identify } from "@amplitude/identify";
import { init } from "@amplitude/node";

const [host, apiKey] = process.argv.slice(2);
const amplitude = init(apiKey, { serverUrl: `${host}/2/httpapi` });
const anna = { device_id: "d1", user_id: "user-1", session_id: 1_795_000_000_000 };
const replies = [
  amplitude.logEvent({ ...anna, event_type: "[Amplitude] Page Viewed", event_properties: { "[Amplitude] Page URL": "https://shop.example/cart", "[Amplitude] Page Title": "Cart" } }),
  amplitude.logEvent({ ...anna, event_type: "Order Completed", event_properties: { coupon: "may" }, price: 9.5, quantity: 2, revenue: 19 }),
  amplitude.identify("user-1", "d1", new Identify().set("plan", "pro")),
];
await amplitude.flush();
for (const { status, statusCode } of await Promise.all(replies)) if (statusCode !== 200) throw new Error(status);
