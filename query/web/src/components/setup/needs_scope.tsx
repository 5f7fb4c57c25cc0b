// In place of what only a key with a certain scope may see or do: how to get there.
import { moreTexts } from "../../texts.more";
import { Card } from "../card";

export function NeedsScope({ scope }: { scope: string }) {
  return <p class="empty">{moreTexts.setup.needsScope(scope)} <code>tidemark keys create</code> … <code>--scope {scope}</code></p>;
}

export function NeedsAdmin({ title }: { title: string }) {
  return <Card title={title}><NeedsScope scope="admin" /></Card>;
}
