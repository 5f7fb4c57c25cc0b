// The channels of the website, which alerts and reports tell.
import { fetchAll } from "../api/pages";
import { hasRecords, subjectQuery } from "../api/session";
import { type Loaded, useLoaded } from "../api/use";
import { moreTexts } from "../texts.more";
import type { Schemas } from "../types";

export type Channel = Schemas["ChannelResource"];
export type ChannelKind = keyof typeof moreTexts.channels.kinds;

export const kindText = (kind: string): string => moreTexts.channels.kinds[kind as ChannelKind];

export function useChannels(): Loaded<Channel[]> {
  const query = subjectQuery.value;
  return useLoaded(hasRecords() ? `channels ${JSON.stringify(query)}` : null, (signal) => fetchAll<Channel>("/v1/channels", query, signal));
}

/** What a channel is called; without a list, it is not known yet. */
export const channelName = (id: string, all: Channel[] | null): string =>
  (all ? all.find((channel) => channel.id === id)?.name ?? moreTexts.channels.deleted : "…");

/** Whether there is an address, or a channel that is not deleted. */
export const isTold = ({ recipients, channels }: { recipients: string[]; channels: string[] }, all: Channel[] | null): boolean =>
  recipients.length > 0 || channels.some((id) => !all || all.some((channel) => channel.id === id));

/** Who is told, as one list: addresses, then channels by their names. */
export const toldNames = ({ recipients, channels }: { recipients: string[]; channels: string[] }, all: Channel[] | null): string[] =>
  [...recipients, ...channels.map((id) => channelName(id, all))];
