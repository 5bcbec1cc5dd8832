// Which transfers a chain's loop asks for: all of the listed tokens, or those to the store's
// addresses alone. A busy chain has hundreds of transfers of a listed token in each block, so few
// addresses cost less by recipients, and many by tokens. Both forms mark the same transfers.
//
// Records are never taken away, and the list is read once the head is known, so it has each address
// that was looked at by its balance in an earlier turn. A record that is created while logs are
// read is looked at later, at a head that is not below what was read.

import type { Hex } from "executable-address";
import type { EndpointRecord } from "../chain/rpc/endpoint-record.ts";
import type { FollowMemory, Range, Turn } from "./parts.ts";

/** The recipients to ask for; undefined asks for the transfers of listed tokens to anybody. */
export type Form = readonly Hex[] | undefined;

/** Bytes that a recipient takes in a question, and a log in an answer. */
const bytes = { recipient: 69, log: 630 };
/** A range that an endpoint refused is taken to have as many: a usual limit of providers. */
const refusedLogs = 10_000;
/** While recipients are asked for, the density of logs fades, so that it is measured again. */
const kept = 0.995;

/** Reads which addresses there are, up to one more than may be asked for. */
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

/** The forms in which an endpoint may be asked, the one of fewer bytes first. */
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

/** @param logs that an endpoint gave for the form; undefined where it refused it */
export function noteLogs(memory: FollowMemory, form: Form, range: Range, logs: number | undefined) {
  if (form) memory.logsPerBlock *= kept;
  else memory.logsPerBlock = (logs ?? refusedLogs) / blocksOf(range);
}

const blocksOf = ({ from, to }: Range) => to - from + 1;
