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

/** Who is told, as one list: addresses, then channels by their names. */
export const toldNames = ({ recipients, channels }: { recipients: string[]; channels: string[] }, all: Channel[]): string[] =>
  [...recipients, ...channels.map((id) => all.find((channel) => channel.id === id)?.name ?? id)];
