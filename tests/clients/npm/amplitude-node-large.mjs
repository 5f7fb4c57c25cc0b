import { init, track } from "@amplitude/analytics-node";

const [host, apiKey] = process.argv.slice(2);
await init(apiKey, { serverUrl: `${host}/2/httpapi`, logLevel: 0, flushIntervalMillis: 1000 }).promise;
const results = [];
// It cuts a text to 1024 characters.
const notes = Object.fromEntries(Array.from({ length: 30 }, (_, number) => [`note${number}`, "x".repeat(1000)]));
for (let number = 0; number < 50; number++)
  results.push(track(`Large ${number}`, notes, { device_id: "d1" }).promise);
await Promise.all(results);
process.exit(0);
