import { buildEcommerceTransaction, buildEcommerceTransactionItem, buildLinkClick, buildPagePing, buildPageView, buildScreenView, buildSelfDescribingEvent, buildStructEvent, newTracker } from "@snowplow/node-tracker";

const [endpoint, appId] = process.argv.slice(2);
let successes = 0;
const emitter = (eventMethod, bufferSize) => ({ endpoint, eventMethod, bufferSize, onRequestSuccess: () => successes++ });
// It keeps what failed until it sends the next time.
const flush = async (tracker, requests) => {
  for (let tries = 0; successes < requests; tries++) {
    if (tries === 20) throw new Error(`${successes} requests of ${requests}`);
    await tracker.flush();
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
};
const tracker = newTracker({ namespace: "shop", appId }, emitter("post", 20));
tracker.setDomainUserId("d1");
tracker.setSessionId("s1");
tracker.setUserId("u1");
tracker.setLang("de-DE");
tracker.setTimezone("Europe/Berlin");
tracker.setScreenResolution(1920, 1080);
tracker.track(buildPageView({ pageUrl: "https://shop.example/cart", pageTitle: "Cart", referrer: "https://other.example/x" }));
tracker.track(buildPagePing({ pageUrl: "https://shop.example/cart", pageTitle: "Cart", minYOffset: 0, maxYOffset: 700 }));
tracker.track(buildStructEvent({ category: "shop", action: "add", label: "mug", property: "blue", value: 9.5 }));
tracker.track(buildSelfDescribingEvent({ event: { schema: "iglu:com.acme/signup/jsonschema/1-0-0", data: { plan: "pro", note: "ÿ>>>???~~~" } } }));
tracker.track(buildLinkClick({ targetUrl: "https://other.example/out" }));
tracker.track(buildEcommerceTransaction({ orderId: "o1", total: 49.9, currency: "EUR" }));
tracker.track(buildEcommerceTransactionItem({ orderId: "o1", sku: "mug", price: 9.5, quantity: 2 }));
await flush(tracker, 1);
const images = newTracker({ namespace: "app", appId, encodeBase64: false }, emitter("get", 1));
images.setDomainUserId("d2");
images.track(buildScreenView({ name: "Settings" }));
await flush(images, 2);
