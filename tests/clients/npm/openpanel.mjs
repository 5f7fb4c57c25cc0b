import { OpenPanel } from "@openpanel/sdk";

const [host, clientId] = process.argv.slice(2);
const openpanel = new OpenPanel({ apiUrl: `${host}/openpanel`, clientId });
openpanel.setGlobalProperties({ shop: "de" });
const replies = [
  await openpanel.track("screen_view", { __path: "https://shop.example/cart", __title: "Cart", __referrer: "https://other.example/x" }),
  await openpanel.revenue(49.9, { currency: "EUR", deviceId: "d1" }),
  await openpanel.identify({ profileId: "u1", firstName: "Anna", properties: { plan: "pro" } }),
  await openpanel.track("Signed Up", { plan: "pro" }),
  await openpanel.increment({ profileId: "u1", property: "visits" }),
  await openpanel.upsertGroup({ id: "acme", type: "company", name: "Acme" }),
  await openpanel.setGroup("acme"),
];
if (replies.some((reply) => reply === null)) throw new Error(JSON.stringify(replies));
