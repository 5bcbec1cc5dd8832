// What a vault looks like now, for the decision about it.

import { decodeTerms, deriveAddress, fromHex, type Hex, toHex } from "executable-address";
import { type Answer, type Call, hexData, quantity, resultOf } from "../../chain/rpc/json-rpc.ts";
import type { Job } from "../ledger/jobs.ts";
import type { Pass } from "../parts.ts";
import { balanceOfCalldata, nativeCoin } from "./calldata.ts";
import type { Terms, Vault } from "./decide.ts";

export type Examined = { job: Job; terms: Terms; recovery: Hex; vault: Vault };

/**
 * Reads each job's vault at one block: code, native coin, and every listed token besides the
 * intent's own. `corrupt` are those whose record does not derive their address.
 */
export async function examine(
  pass: Pass,
  jobs: readonly Job[],
): Promise<{ examined: Examined[]; corrupt: Job[] }> {
  const { parts, memory, view } = pass;
  const corrupt: Job[] = [];
  const known = jobs.flatMap((job) => {
    const intent = verifiedIntent(job, parts.factory);
    if (!intent) corrupt.push(job);
    return intent ? [{ job, ...intent, tokens: tokensOf(pass, intent.terms) }] : [];
  });
  const calls = known.flatMap(({ job, tokens }) => readsOf(job.address, tokens, view.at));
  const answers =
    calls.length === 0 ? [] : await view.readInTurn(calls, memory.examineTurn++, isUsable);
  let at = 0;
  const examined = known.map(({ job, terms, recovery, tokens }) => {
    const mine = answers.slice(at, at + tokens.length + 2);
    at += mine.length;
    const balances = new Map<Hex, bigint>([[nativeCoin, quantity(resultOf(mine[1]))]]);
    tokens.forEach((token, index) => {
      balances.set(token, balanceIn(mine[index + 2]));
    });
    return { job, terms, recovery, vault: { hasCode: hasCode(mine[0]), balances } };
  });
  return { examined, corrupt };
}

function tokensOf({ parts }: Pass, { chainId, token }: Terms): Hex[] {
  const isHere = chainId === parts.chain.chainId;
  return [...new Set([...parts.chain.tokens, ...(isHere ? [token] : [])])];
}

function readsOf(vault: Hex, tokens: readonly Hex[], at: object): Call[] {
  const data = balanceOfCalldata(vault);
  return [
    { method: "eth_getCode", params: [vault, at] },
    { method: "eth_getBalance", params: [vault, at] },
    ...tokens.map((to) => ({ method: "eth_call", params: [{ to, data }, at] })),
  ];
}

/** An endpoint that does not have the block is passed over; a token that reverts is an answer. */
function isUsable(answer: Answer): boolean {
  if ("result" in answer) return true;
  return answer.error.code === 3 || /revert/i.test(answer.error.message);
}

/** Zero for a token that reverts or answers no number: it can neither pay nor return. */
function balanceIn(answer: Answer | undefined): bigint {
  if (!answer || "error" in answer) return 0n;
  const data = hexData(answer.result);
  return data.length >= 66 ? BigInt(data.slice(0, 66)) : 0n;
}

function hasCode(answer: Answer | undefined): boolean {
  return hexData(resultOf(answer)) !== "0x";
}

function verifiedIntent(job: Job, factory: Hex): { terms: Terms; recovery: Hex } | undefined {
  try {
    const bytes = fromHex(job.terms);
    if (toHex(deriveAddress(bytes, { factory })) !== job.address) return undefined;
    const intent = decodeTerms(bytes, { factory });
    return {
      terms: {
        chainId: intent.chainId,
        token: intent.token.toLowerCase() as Hex,
        amount: BigInt(intent.amount),
        expirationSeconds: intent.expirationTimestamp,
      },
      recovery: intent.recovery,
    };
  } catch {
    return undefined;
  }
}
