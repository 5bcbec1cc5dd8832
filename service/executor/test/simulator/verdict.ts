// Checks the conditions that must be true at the end of every simulation.

import { type Hex, toHex } from "executable-address";
import { judgeBooks } from "./books.ts";
import { nonceOf } from "./chain-model.ts";
import { balanceOf } from "./factory-model.ts";
import { senders, shop, tokens, type World } from "./world.ts";

/** Descriptions of faults. All lists should be empty. */
export type Verdict = {
  /** Money that is still at an address whose job the executor has not abandoned. */
  missing: string[];
  /** Work that the executor did twice. */
  duplicate: string[];
  /** Executions and recoveries that are only in the database, or only on the chain. */
  falselyDone: string[];
  /** Token units that appeared or disappeared without a reason. */
  unbalanced: string[];
  /** Nonces that are still pending, or were assigned but not used. */
  stuck: string[];
  /** Gas costs or tips that differ between the database and the chain. */
  misbooked: string[];
};

export function faultsOf(verdict: Verdict): string[] {
  return Object.entries(verdict).flatMap(([kind, list]) => list.map((text) => `${kind}: ${text}`));
}

/** Checks only the chain and not the database, which the naive executor does not have. */
export function judgeChain(world: World): Pick<Verdict, "missing" | "duplicate" | "unbalanced"> {
  const { chain, vaults } = world;
  const { state } = chain.blocks.at(-1)!;
  // A `heavy` intent stays open and never succeeds, so its money stays where it is.
  const ended = vaults.filter(({ behaviour }) => behaviour !== "heavy");
  const missing = ended.flatMap(({ address, behaviour }) =>
    tokens
      .filter((token) => balanceOf(state, token, address) > 0n)
      .map((token) => `${address} (${behaviour}) holds ${balanceOf(state, token, address)}`),
  );
  // Skips this check if a reorganization was so deep that it removed final transactions. The chain
  // may then mine both a removed transaction and the executor's new one. Only one of the two
  // transactions has an effect.
  const duplicate = (chain.wasDeep() ? [] : chain.blocks).flatMap((block) =>
    block.mined.flatMap(({ transaction, wasted }) =>
      wasted
        // A recovery may return nothing if a reorganization has removed the payment.
        .filter((vault) => !chain.lost.has(vault))
        .filter((vault) => wasOurs(world, vault, block.number))
        .map((vault) => `nonce ${transaction.nonce} did ${vault} again`),
    ),
  );
  return { missing, duplicate, unbalanced: judgeBalance(world) };
}

/** Returns whether the executor closed the address in block `upTo` or earlier. */
function wasOurs({ chain }: World, vault: Hex, upTo: number): boolean {
  const topic = `0x${vault.slice(2).padStart(64, "0")}`;
  const [executed] = chain.blocks
    .slice(0, upTo + 1)
    .flatMap((block) => block.mined)
    .filter(({ logs }) => logs.some((log) => log.topics[1] === topic && log.topics.length === 3));
  return executed !== undefined;
}

/**
 * For each token, checks that the total of all payments equals the sum of all balances. The sum
 * includes the addresses, their recovery addresses, the shop, and the executor's keys.
 */
function judgeBalance({ chain, vaults }: World): string[] {
  const { state } = chain.blocks.at(-1)!;
  const faults: string[] = [];
  for (const token of tokens) {
    let paid = 0n;
    for (const deed of chain.blocks.flatMap((block) => block.deeds)) {
      if (deed.kind === "pay" && deed.token === token) paid += deed.amount;
    }
    const owners = [
      shop,
      ...senders,
      ...vaults.flatMap((vault) => [vault.address, vault.recovery]),
    ];
    const found = owners.reduce((sum, owner) => sum + balanceOf(state, token, owner), 0n);
    if (found !== paid) faults.push(`${paid} of ${token} were paid, ${found} are found`);
  }
  return faults;
}

export async function judge(world: World): Promise<Verdict> {
  const { db, chain } = world;
  const onChain = judgeChain(world);
  const reported = await db
    .selectFrom("executor_jobs")
    .select(["address", "state"])
    .where("state", "=", "given_up")
    .execute();
  const isReported = (text: string) => reported.some((row) => text.startsWith(toHex(row.address)));
  const pending = await db
    .selectFrom("executor_purposes")
    .selectAll()
    .where("state", "=", "pending")
    .execute();
  const given = await db.selectFrom("executor_purposes").select("sender").execute();
  const unused = senders.filter(
    (key) =>
      given.filter(({ sender }) => sender === key).length >
      nonceOf(chain.blocks.at(-1)!.state, key),
  );
  return {
    ...onChain,
    missing: onChain.missing.filter((text) => !isReported(text)),
    falselyDone: await judgeOutcomes(world),
    misbooked: await judgeBooks(world),
    stuck: [
      ...pending.map((row) => `nonce ${row.nonce} is pending`),
      ...unused.map((key) => `${key} was given more nonces than it used`),
    ],
  };
}

async function judgeOutcomes({ db, chain, vaults }: World): Promise<string[]> {
  const faults: string[] = [];
  const mined = new Map(
    chain.blocks.flatMap((block) =>
      block.mined.map((entry) => [entry.transaction.hash, entry] as const),
    ),
  );
  const outcomes = await db
    .selectFrom("executor_outcomes")
    .selectAll()
    .where("kind", "in", ["executed", "recovered"])
    .execute();
  for (const row of outcomes) {
    const vault = toHex(row.address);
    const entry = mined.get(row.transaction_hash as Hex);
    const topic = `0x${vault.slice(2).padStart(64, "0")}`;
    const isTrue = entry?.logs.some((log) => log.topics[1] === topic && log.topics.length === 3);
    if (isTrue) continue;
    const { kind, transaction_hash: hash, block_number: block } = row;
    faults.push(`${vault} is down as ${kind} in block ${block} by ${hash}`);
  }
  for (const vault of vaults) {
    const topic = `0x${vault.address.slice(2).padStart(64, "0")}`;
    const ours = [...mined.values()].some(({ logs }) =>
      logs.some((log) => log.topics[1] === topic && log.topics.length === 3),
    );
    const row = outcomes.find((each) => toHex(each.address) === vault.address);
    if (ours && !row) faults.push(`${vault.address} was done and is not down as done`);
  }
  return faults;
}
