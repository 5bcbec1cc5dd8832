// Compares a chain's endpoints with each other for an operator: how far each is, and on
// what it says something else than enough others do.

import { agreed, saidBy, textOf } from "./rpc/alike.ts";
import { httpEndpoint } from "./rpc/endpoint.ts";
import { type Answer, type Block, blockCall, blockOf, type Call } from "./rpc/json-rpc.ts";

/** `finalizedBlock` null: it does not serve the tag. `differsOn` names methods. */
type Told = {
  headBlock: number | null;
  finalizedBlock: number | null;
  answeredMs: number | null;
  differsOn: string[];
};

const timeoutMs = 10_000;
/** The common block lies so far below the lowest head that each endpoint has it. */
const depth = 5;

/** One for each URL, in order. */
export async function compareEndpoints(urls: readonly string[]): Promise<Told[]> {
  const endpoints = urls.map((url, index) => httpEndpoint(`${index}`, url, { timeoutMs }));
  const ask = (calls: Call[]) =>
    Promise.all(endpoints.map((each) => each.ask(calls).catch(() => undefined)));
  const heads = await Promise.all(
    endpoints.map(async (endpoint) => {
      const beganMs = performance.now();
      const calls = [blockCall("latest"), blockCall("finalized")];
      const answers = await endpoint.ask(calls).catch(() => undefined);
      return { answers, answeredMs: Math.round(performance.now() - beganMs) };
    }),
  );
  const blocks = heads.map(({ answers }) => blockIn(answers, 0));
  const numbers = blocks.flatMap((block) => block?.number ?? []);
  const common = blockCall(Math.max(0, Math.min(...numbers) - depth));
  const calls = [{ method: "eth_chainId", params: [] }, ...(numbers.length > 0 ? [common] : [])];
  const lists = await ask(calls);
  const quorum = Math.min(2, urls.length);
  const agreements = calls.map(({ method }, place) => {
    const texts = lists.map((list) => list?.[place] && textOf(method, list[place]));
    return { method, texts, places: agreed(texts, quorum) };
  });
  return heads.map(({ answers, answeredMs }, index) => ({
    headBlock: blocks[index]?.number ?? null,
    finalizedBlock: blockIn(answers, 1)?.number ?? null,
    answeredMs: answers ? answeredMs : null,
    // If two contradict each other, it is not known which of them is wrong.
    differsOn: agreements.flatMap(({ method, texts, places }) =>
      texts[index] !== undefined && !places?.includes(index) ? [method] : [],
    ),
  }));
}

const blockIn = (answers: Answer[] | undefined, place: number): Block | undefined =>
  saidBy([answers], place, blockOf)[0];
