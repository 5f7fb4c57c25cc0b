import { groupIdentify, identify, Identify, init, revenue, Revenue, track } from "@amplitude/analytics-node";

const [host, apiKey] = process.argv.slice(2);
// Events that `flush` sends are not sent again: they leave with the timer.
await init(apiKey, { serverUrl: `${host}/2/httpapi`, logLevel: 0, flushIntervalMillis: 100 }).promise;
const anna = { device_id: "d1", user_id: "user-1", session_id: 1_795_000_000_000 };
const page = { "[Amplitude] Page URL": "https://shop.example/cart", "[Amplitude] Page Title": "Cart", referrer: "https://other.example/x" };
const order = new Revenue().setProductId("mug").setPrice(9.5).setQuantity(2).setEventProperties({ coupon: "may" });
const results = [
  track("[Amplitude] Page Viewed", page, { ...anna, language: "de-DE" }),
  track("Signed Up", { plan: "pro", seats: 3, tags: ["a", "b"] }, { device_id: "device-2" }),
  revenue(order, anna),
  identify(new Identify().set("plan", "pro").setOnce("first", "mail").add("visits", 1), anna),
  groupIdentify("company", "acme", new Identify().set("seats", 3), anna),
].map((result) => result.promise);
for (const { code, message } of await Promise.all(results)) if (code !== 200) throw new Error(message);
process.exit(0); // it waits for its timer otherwise
