// Privacy of the website: what is stored about visitors, and how long it is kept.
import { fetchJson } from "../../api/request";
import { may, mayEverywhere, subjectQuery } from "../../api/session";
import { useLoaded } from "../../api/use";
import type { Schemas } from "../../types";
import { Async } from "../states";
import { KeepDays } from "./keep_days";
import { PrivacyCard } from "./privacy_settings";

/** Website, status and, where the sign-in may see it, organization. */
async function load(path: string, signal: AbortSignal) {
  const isWhole = mayEverywhere("manage:websites");
  const [site, status, organization] = await Promise.all([
    fetchJson<Schemas["WebsiteResponse"]>(path, { signal }),
    fetchJson<Schemas["WebsiteStatusResponse"]>(`${path}/status`, { signal }),
    isWhole ? fetchJson<Schemas["OrganizationResponse"]>("/v1/organization", { signal }) : undefined,
  ]);
  return { site: site.data, status: status.data, organization: organization?.data };
}

export function Privacy() {
  const path = `/v1/websites/${subjectQuery.value.website_id}`;
  const loaded = useLoaded(path, (signal) => load(path, signal));
  return (
    <Async loaded={loaded}>
      {({ site, status, organization }) => (
        <>
          <PrivacyCard path={path} privacy={site.privacy} mayChange={may("manage:websites")} done={loaded.reload} />
          <KeepDays key={site.updatedAt} path={path} keepDays={site.keepDays} inherited={organization?.keepDays} keptFrom={status.keptFrom}
            websiteId={site.id} mayChange={may("manage:websites")} done={loaded.reload} />
        </>
      )}
    </Async>
  );
}
