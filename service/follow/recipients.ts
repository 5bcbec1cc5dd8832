// Decides which transfers a chain's loop requests: all of the listed tokens, or only those to the
// store's addresses. A busy chain has hundreds of transfers of a listed token in each block, so few
// addresses cost less by recipients, and many by tokens. Both forms mark the same transfers.
//
// Records are never deleted, and the list is read after the head is known, so it contains each
// address whose balance was checked in an earlier turn. A record that is created while logs are
// read is checked later, at a head that is not below the blocks that were read.

import type { Hex } from "executable-address";
import type { EndpointRecord } from "../chain/rpc/endpoint-record.ts";
import type { FollowMemory, Range, Turn } from "./parts.ts";

/** The recipients to request; undefined requests the transfers of listed tokens to anyone. */
export type Form = readonly Hex[] | undefined;

/** Bytes of a recipient in a request, and of a log in a response. */
const bytes = { recipient: 69, log: 630 };
/** The assumed number of logs of a range that an endpoint refused: a usual limit of providers. */
const refusedLogs = 10_000;
/**
 * While recipients are requested, the known density of logs fades, so that it is measured again.
 */
const kept = 0.995;

/** Reads the addresses, up to one more than can be requested. */
export async function noteRecipients({ store, tuning, memory }: ListOf): Promise<void> {
  const { recipients } = memory;
  const room = tuning.recipientsMax + 1 - recipients.list.length;
  if (tuning.recipientsMax === 0 || room === 0) return;
  for (const { seq, address } of await store.findCreated(recipients.seq, room)) {
    recipients.seq = seq;
    recipients.list.push(address);
  }
}

type ListOf = {
  store: Pick<Turn["store"], "findCreated">;
  tuning: Pick<Turn["tuning"], "recipientsMax">;
  memory: FollowMemory;
};

/** The forms of request for an endpoint, the one with fewer bytes first. */
export function formsFor(
  { memory, tuning }: Omit<ListOf, "store">,
  { logs }: Pick<EndpointRecord, "logs">,
  range: Range,
): Form[] {
  const { list } = memory.recipients;
  const isFew = list.length > 0 && list.length <= tuning.recipientsMax;
  if (!isFew || logs.isByTokens) return [undefined];
  const answered = memory.logsPerBlock * blocksOf(range) * bytes.log;
  return list.length * bytes.recipient < answered ? [list, undefined] : [undefined, list];
}

/** @param logs that an endpoint returned for the form; undefined if it refused */
export function noteLogs(memory: FollowMemory, form: Form, range: Range, logs: number | undefined) {
  if (form) memory.logsPerBlock *= kept;
  else memory.logsPerBlock = (logs ?? refusedLogs) / blocksOf(range);
}

const blocksOf = ({ from, to }: Range) => to - from + 1;
