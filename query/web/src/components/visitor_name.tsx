// Who a visitor is: the name that is known, else an alias of the id, which is in the title.
import { addressWith, follow } from "../state/address";
import { aliasOf } from "../state/alias";
import { moreTexts } from "../texts.more";
import { propertiesOf } from "./timeline";

/** What a sender calls a visitor: a name of the traits, else the profile's id. */
export function visitorName(traits: string | null, profile: string | null): string | null {
  const known = new Map(propertiesOf(traits));
  return known.get("name") ?? known.get("email") ?? profile;
}

/** The address of a visitor, without filters: they would hide a part of it. */
export const visitorAddress = (id: string): string => addressWith({ view: "visitors", item: id, filters: [] });

export function VisitorLink({ id, name }: { id: string; name?: string | null }) {
  return <a class="visitor-name" href={visitorAddress(id)} onClick={follow} title={moreTexts.alias.id(id)}>{name ?? aliasOf(id)}</a>;
}
