// Shares out the streams of a server: an address, a client, and a network have bounds of their own,
// so that none of them takes what all share.

import type { Hex } from "executable-address";
import type { EventLimits } from "../limits.ts";

/** `client`: one IPv4 address or a /64 of IPv6; `network`: a /24 or a /48. */
export type From = { readonly client: string; readonly network: string };

/** The most that one network has of what all share. */
const shareOf = (streams: number) => Math.ceil((3 * streams) / 4);

export function shareStreams(limits: EventLimits) {
  const { streamsMax, streamsPerAddressMax, streamsPerClientMax } = limits;
  const counts = new Map<string, number>();
  const held = (place: string) => counts.get(place) ?? 0;

  /** A stream counts in each of these places, which have room for so many. */
  const placesOf = (address: Hex, { client, network }: From): readonly [string, number][] => [
    ["all", streamsMax],
    [address, streamsPerAddressMax],
    [client, streamsPerClientMax],
    [`of ${network}`, shareOf(streamsMax)],
    [`${address} ${network}`, shareOf(streamsPerAddressMax)],
  ];

  function leave(place: string): void {
    if (held(place) > 1) counts.set(place, held(place) - 1);
    else counts.delete(place);
  }

  return {
    streams: () => held("all"),
    hasRoom: (address: Hex, from: From) =>
      placesOf(address, from).every(([place, most]) => held(place) < most),
    /** Call the answer once, when the stream is over. */
    enter(address: Hex, from: From): () => void {
      const places = placesOf(address, from).map(([place]) => place);
      for (const place of places) counts.set(place, held(place) + 1);
      return () => places.forEach(leave);
    },
  };
}
