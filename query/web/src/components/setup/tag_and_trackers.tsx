// How events come: the script of the website, and trackers of other products.
import { website } from "../../api/session";
import { moreTexts } from "../../texts.more";
import { Card } from "../card";
import { Arrival, Tag, useStatus } from "../tag";
import { Trackers } from "./trackers";

const t = moreTexts.setup;

export function TagAndTrackers() {
  const { id, name, domain } = website.value!;
  return (
    <>
      <Script key={id} id={id} name={name || domain} />
      <Trackers key={`trackers ${id}`} id={id} />
    </>
  );
}

/** The script of the website, and a check that looks again until its first event is there. */
function Script({ id, name }: { id: string; name: string }) {
  return (
    <Card title={t.script(name)}>
      <Tag id={id} />
      <Arrival status={useStatus(id)} />
    </Card>
  );
}
