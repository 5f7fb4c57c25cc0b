import { PostHog } from "posthog-node";

const [host, token] = process.argv.slice(2);
const posthog = new PostHog(token, { host, flushAt: 100, flushInterval: 100, disableGeoip: true });
for (let number = 0; number < 50; number++)
  posthog.capture({ distinctId: "u1", event: `Large ${number}`, properties: { note: "x".repeat(30_000) }, disableGeoip: true });
await posthog.shutdown();
