import { subscribe } from "node:diagnostics_channel";
import MatomoTracker from "matomo-tracker";

const [host, siteId] = process.argv.slice(2);
// The client leaves the replies of images unread, which keeps the process.
subscribe("http.client.response.finish", ({ response }) => response.resume());
const matomo = new MatomoTracker(siteId, `${host}/matomo.php`);
matomo.on("error", (error) => {
  throw new Error(String(error));
});
const visitor = { _id: "0123456789abcdef", uid: "u1" };
matomo.track({ ...visitor, url: "https://shop.example/cart?a=1", action_name: "Cart", urlref: "https://other.example/x", res: "1920x1080", lang: "de-DE,de;q=0.8", dimension1: "pro" });
const reply = await new Promise((resolve) =>
  matomo.trackBulk(
    [
      { ...visitor, url: "https://shop.example/cart", e_c: "Videos", e_a: "play", e_n: "intro", e_v: 3 },
      { ...visitor, url: "https://shop.example/cart", link: "https://other.example/out" },
      { ...visitor, url: "https://shop.example/a.pdf", download: "https://shop.example/a.pdf" },
      { ...visitor, url: "https://shop.example/search", search: "blue mug", search_cat: "mugs", search_count: 4 },
      { ...visitor, url: "https://shop.example/done", idgoal: 0, ec_id: "o1", revenue: 49.9, ec_tx: 8, ec_items: JSON.stringify([["s1", "Mug", "mugs", 9.5, 2]]) },
      { ...visitor, url: "https://shop.example/done", idgoal: 3, revenue: 5 },
      { ...visitor, url: "https://shop.example/cart", ping: 1 },
      { ...visitor, url: "https://shop.example/cart", ca: 1, cra: "x is undefined", cra_tp: "TypeError", cra_ru: "https://shop.example/a.js", cra_rl: 3, cra_rc: 7 },
      { ...visitor, url: "https://shop.example/cart", c_n: "banner" },
    ],
    resolve,
  ),
);
if (reply !== '{"status":"success","tracked":9,"invalid":0}') throw new Error(reply);
