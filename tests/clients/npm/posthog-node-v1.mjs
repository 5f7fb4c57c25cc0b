process.env.POSTHOG_CAPTURE_MODE = "v1";
await import("./posthog-node.mjs");
