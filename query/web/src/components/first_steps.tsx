// In place of the numbers of a website that has never had an event: its script, where to put it, and a check of the first event.
import { fetchJson } from "../api/request";
import { may, me, website } from "../api/session";
import { refresh, useLoaded } from "../api/use";
import { addressWith, follow } from "../state/address";
import { texts } from "../texts";
import type { Schemas } from "../types";
import { Icon } from "./icon";
import { Arrival, Tag, useStatus } from "./tag";

const t = texts.firstSteps;
const setup = (part: string): string => addressWith({ view: "setup", item: "", own: { part } });

export default function FirstSteps() {
  const { id, name, domain } = website.value!;
  const status = useStatus(id);
  const received = status.value?.received;
  return (
    <section class="card first-steps" aria-label={t.title}>
      <header>
        <h2>{received ? t.arrived : t.title}</h2>
        <p class="quiet">{received ? t.arrivedHint : t.intro(name || domain)}</p>
      </header>
      {received ? <><Arrival status={status} /><Next /></> : (
        <ol>
          <li>
            <h3>{t.copy}</h3>
            <Tag id={id} />
          </li>
          <li>
            <h3>{t.place}</h3>
            <ul class="first-places">
              {t.places.map(([where, how]) => <li key={where}><strong>{where}</strong><span class="quiet">{how}</span></li>)}
            </ul>
          </li>
          <li>
            <h3>{t.open}</h3>
            <p class="quiet">{t.openHint}</p>
            <p><a class="button" href={`https://${domain}`} target="_blank" rel="noopener noreferrer">{domain}<Icon name="external-link" size={14} /></a></p>
            <Arrival status={status} />
            <Hints id={id} domain={domain} />
          </li>
        </ol>
      )}
      {!received && <OtherWays />}
    </section>
  );
}

function Next() {
  return (
    <p class="first-next">
      <button type="button" class="button primary" onClick={refresh}>{t.show}</button>
      {may("manage:websites") && <a class="button" href={addressWith({ view: "goals" })} onClick={follow}>{t.goals}</a>}
      {may("manage:websites") && <a class="button" href={addressWith({ view: "shares" })} onClick={follow}>{t.share}</a>}
    </p>
  );
}

/** What holds events back most often. */
function Hints({ id, domain }: { id: string; domain: string }) {
  const path = `/v1/websites/${id}`;
  const site = useLoaded(may("manage:websites") ? path : null, (signal) => fetchJson<Schemas["WebsiteResponse"]>(path, { signal }));
  const origins = site.value?.data.allowedOrigins ?? [];
  return (
    <details class="first-hints">
      <summary>{t.nothing}</summary>
      <ul>
        <li>{origins.length ? t.origins(origins.join(", ")) : t.domain(domain)}</li>
        <li>{t.blocked(me.value?.collectUrl ?? "")}</li>
        <li>{t.bots}</li>
        {may("manage:websites") && <li>{t.refused} <a href={setup("system")} onClick={follow}>{t.system}</a>.</li>}
      </ul>
    </details>
  );
}

/** For those who do not put a script into pages. */
function OtherWays() {
  const ways = [
    { ...t.ways.server, href: "/docs" },
    ...(may("manage:websites") ? [{ ...t.ways.trackers, href: setup("tag") }, { ...t.ways.file, href: setup("imports") }] : []),
  ];
  return (
    <footer>
      <h3>{t.others}</h3>
      <ul class="first-ways">
        {ways.map(({ title, hint, href }) => (
          <li key={title}><a href={href} onClick={href === "/docs" ? undefined : follow}><strong>{title}</strong><span class="quiet">{hint}</span></a></li>
        ))}
      </ul>
    </footer>
  );
}
