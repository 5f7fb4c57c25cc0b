// The channels of the website, which alerts and reports tell.
import type { ChannelResource } from "../api/notices";
import { fetchAll } from "../api/pages";
import { hasRecords, subjectQuery } from "../api/session";
import { type Loaded, useLoaded } from "../api/use";

export function useChannels(): Loaded<ChannelResource[]> {
  const query = subjectQuery.value;
  return useLoaded(hasRecords() ? `channels ${JSON.stringify(query)}` : null, (signal) => fetchAll<ChannelResource>("/v1/channels", query, signal));
}

/** Who is told, as one list: addresses, then channels by their names. */
export const toldNames = ({ recipients, channels }: { recipients: string[]; channels: string[] }, all: ChannelResource[]): string[] =>
  [...recipients, ...channels.map((id) => all.find((channel) => channel.id === id)?.name ?? id)];
