// GET /address/{address}/status: spec/service.md, "Status". Public. Returns the status of an
// address. `openStatuses` also reads statuses for event streams, pages, and link previews.
//
// GET /address/{address}/returns: spec/service.md, "Returns". Lists the cases in which misdirected
// money can be returned. Does not read the chain.

import { formatAddress, type Hex, type Intent } from "executable-address";
import {
  type AddressStatus,
  deriveReturns,
  type Elsewhere,
  isSame,
  type ReturnPolicy,
  type ServiceStatus,
  type StatusSubject,
  type WrongToken,
} from "executable-address/status";
import { type Lookalike, recoverMinDefault } from "../../chain/chains.ts";
import { blockOf } from "../../chain/rpc/json-rpc.ts";
import { elsewhereFinder, elsewhereOf } from "../../events/elsewhere/amounts.ts";
import { type Misdirected, misdirectedFinder } from "../../events/misdirected.ts";
import { recalled } from "../../flow/together.ts";
import { decodeRecord } from "../../store/record.ts";
import { noIntent } from "../errors.ts";
import { addressDigits, addressOf } from "../input.ts";
import { limitPending } from "../load/admission.ts";
import type { Parts } from "../parts.ts";
import type { Route } from "../routes.ts";

export function status({ limits, metrics }: Parts, statuses: Statuses): Route {
  return {
    before: [limitPending(metrics, "status", limits.lookupsInFlightMax)],
    handler: async (request) => statuses.read(await statuses.readSubject(addressOf(request))),
  };
}

/**
 * Handles GET .../returns. The response contains the executor's policy, so the response can change
 * at any time.
 */
export function returns(
  { chains, executorClient, limits, metrics }: Parts,
  statuses: Statuses,
): Route {
  const policyOf = async ({ chainId, token }: Intent): Promise<ReturnPolicy | null> => {
    const chain = chains.find(chainId);
    if (!chain || !(await executorClient.isActive(chainId))) return null;
    const { confirmations, paymentConfirmations, tokens } = chain;
    const listed = tokens.find(({ address }) => isSame(address, token));
    const amountMin = listed?.recoverMin ?? String(recoverMinDefault);
    return { confirmations, paymentConfirmations, amountMin };
  };
  return {
    before: [limitPending(metrics, "returns", limits.lookupsInFlightMax)],
    async handler(request) {
      const subject = await statuses.readSubject(addressOf(request));
      return deriveReturns(subject, await policyOf(subject.intent));
    },
  };
}

export type Statuses = {
  /**
   * Finds the record of an address in a path or a query.
   *
   * @throws {Refusal} 400 `invalid_request` if the address is invalid
   * @throws {Refusal} 404 if no record is stored
   */
  readRecord(address: string | undefined): Promise<{ subject: StatusSubject; terms: Uint8Array }>;
  /**
   * Like {@link readRecord}, but omits the terms. Event streams keep the result in memory, and
   * terms can have up to 24,576 bytes.
   */
  readSubject(address: string | undefined): Promise<StatusSubject>;
  /**
   * Reads the status at the newest block. If the status shows money that the executor does not know
   * about, notifies the executor.
   *
   * @throws {ChainUnavailable}
   */
  read(subject: StatusSubject): Promise<ServiceStatus>;
  /**
   * Reads the status at a block before the newest block.
   *
   * @throws {ChainUnavailable}
   */
  readAt(subject: StatusSubject, number: number): Promise<ServiceStatus>;
};

/**
 * Returns functions that read the statuses for the service's responses and event streams. A status
 * consists of the state on the chain, the executor's progress, and information from the service.
 */
export function openStatuses(parts: Parts): Statuses {
  const { store, chains, keccak, executorClient, statusReader } = parts;
  const readSettledAt = openSettledAt(chains);
  const findElsewhere = elsewhereFinder(store.db, keccak);
  const readOthers = openOthers(parts);
  const complete = async (
    status: AddressStatus,
    progress: Promise<ServiceStatus["executor"]> | null,
  ): Promise<ServiceStatus> => {
    const [executor, settledAt, others, elsewhere] = await Promise.all([
      progress,
      readSettledAt(status),
      readOthers(status),
      readElsewhere(status),
    ]);
    const explorer = chains.find(status.chainId)?.explorer ?? null;
    return { ...status, executor, settledAt, explorer, ...others, elsewhere };
  };
  const readElsewhere = async ({ address, chainId }: AddressStatus): Promise<Elsewhere[]> => {
    if (chains.known.length === 1) return [];
    const found = await findElsewhere({ address, chainId });
    if (found.paid.length + found.balances.length === 0) return [];
    return elsewhereOf(found, await executorClient.findReturns({ address, chainId }));
  };

  const readRecord: Statuses["readRecord"] = async (text) => {
    const digits = addressDigits(text);
    const address = Buffer.from(digits, "hex");
    const terms = await store.findTerms(address);
    if (!terms) throw noIntent(digits);
    const intent = decodeRecord(address, terms, parts);
    return { subject: { address: formatAddress(address, keccak), intent }, terms };
  };

  return {
    readRecord,
    readSubject: async (text) => (await readRecord(text)).subject,
    async read(subject) {
      const status = await statusReader(subject.intent.chainId).read(subject);
      return complete(status, executorClient.readProgressAndWake(status));
    },
    async readAt(subject, number) {
      const status = await statusReader(subject.intent.chainId).readAt(subject, number);
      // The database does not contain the executor's progress at earlier blocks.
      return complete(status, null);
    },
  };
}

/**
 * Returns a function that reads an address's balances of tokens other than the requested token.
 * `strays` contains the address's balances of the native coin and of listed tokens. `wrongTokens`
 * contains its balances of look-alikes of listed tokens, but only if a transfer of the look-alike
 * to the address was found.
 */
function openOthers({ store, chains, keccak, statusReader }: Parts) {
  const findMisdirected = misdirectedFinder(store.db, keccak);
  return async (status: AddressStatus): Promise<Pick<ServiceStatus, "strays" | "wrongTokens">> => {
    const { chainId, address } = status;
    const { lookalikes = [] } = chains.find(chainId) ?? {};
    const came = lookalikes.length > 0 ? await findMisdirected(address) : [];
    const seen = lookalikes.flatMap((lookalike) => {
      // Skips the requested token. The operator may have listed it as a look-alike after the
      // address was created.
      if (isSame(lookalike.address, status.token)) return [];
      const transfer = came.find(
        (each) => each.chainId === chainId && isSame(each.token, lookalike.address),
      );
      return transfer ? [{ lookalike, transfer }] : [];
    });
    const tokens = seen.map(({ lookalike }) => lookalike.address);
    const found = await statusReader(chainId).readStrays(status, tokens);
    if (!found) return { strays: null, wrongTokens: null };
    const amountOf = (token: Hex) => found.find((each) => isSame(each.token, token))?.amount;
    return {
      strays: found.filter(({ token }) => !tokens.some((each) => isSame(each, token))),
      wrongTokens: seen.flatMap(({ lookalike, transfer }) => {
        const amount = amountOf(lookalike.address);
        return amount === undefined ? [] : [showWrongToken(lookalike, transfer, amount)];
      }),
    };
  };
}

const showWrongToken = (
  { address, symbol, name, decimals, looksLike }: Lookalike,
  { transactionHash, payer }: Misdirected,
  amount: string,
): WrongToken => ({
  token: address,
  amount,
  ...{ symbol, name, decimals, looksLike, transactionHash, payer },
});

/**
 * The maximum number of block timestamps in the cache. The status of an executed or recovered
 * address contains a block's timestamp. With the cache, the server does not request this timestamp
 * from a node each time.
 */
const settledTimesMax = 20_000;

/**
 * Returns a function that reads the time of an address's execution, or else of its first recovery.
 * The function returns the block's timestamp in Unix seconds. It returns null if neither happened,
 * or if no node responds.
 */
function openSettledAt(chains: Pick<Parts["chains"], "rpcOf">) {
  const recall = recalled<number>(settledTimesMax);

  return async ({ chainId, execution, recoveries }: AddressStatus): Promise<number | null> => {
    const event = execution ?? recoveries[0];
    if (!event) return null;
    const request = async () => {
      const params = [event.blockHash, false];
      return blockOf(await chains.rpcOf(chainId).request("eth_getBlockByHash", params)).timestamp;
    };
    return recall(`${chainId}:${event.blockHash}`, request).catch(() => null);
  };
}
