// In place of what needs a certain scope: to people, that their role does not have it; to the holder of a key, how to get one.
import { me } from "../../api/session";
import { moreTexts } from "../../texts.more";
import { Card } from "../card";
import { Empty, forbiddenText } from "../states";

export function NeedsScope({ scope }: { scope: string }) {
  if (me.value?.person) return <Empty text={forbiddenText()} />;
  return <p class="empty">{moreTexts.setup.needsScope(scope)} <code>tidemark keys create</code> … <code>--scope {scope}</code></p>;
}

export function NeedsAdmin({ title }: { title: string }) {
  return <Card title={title}><NeedsScope scope="admin" /></Card>;
}
