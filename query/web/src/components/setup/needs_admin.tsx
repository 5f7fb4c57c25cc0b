// In place of what only a key with the scope admin may see: how to get there.
import { texts } from "../../texts";
import { Card } from "../card";

export function NeedsAdmin({ title }: { title: string }) {
  return (
    <Card title={title}>
      <p class="empty">{texts.setup.needsAdmin} <code>tidemark keys create</code> … <code>--scope admin</code></p>
    </Card>
  );
}
