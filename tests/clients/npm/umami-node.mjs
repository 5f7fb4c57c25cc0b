import { Umami } from "@umami/node";

const [hostUrl, websiteId] = process.argv.slice(2);
const umami = new Umami({ hostUrl, websiteId });
const replies = [
  await umami.track({ url: "/cart", hostname: "shop.example", title: "Cart", language: "de-DE", screen: "1920x1080", id: "u1" }),
  await umami.track("Signed Up", { plan: "pro" }),
  await umami.send({ website: websiteId, id: "u1", data: { plan: "pro" } }, "identify"),
  await umami.send({ website: websiteId, url: "/", hostname: "shop.example", lcp: 1800.5, cls: 0.1 }, "performance"),
  await umami.identify({ plan: "pro" }),
];
if (!replies.every((reply) => reply.status === 200)) throw new Error(replies.map((reply) => reply.status).join());
