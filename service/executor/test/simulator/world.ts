// Creates the simulated world for a seed, with intents, payments, blocks, and faults.

import Database from "better-sqlite3";
import { fromHex, type Hex, makeRecord } from "executable-address";
import { Kysely, SqliteDialect } from "kysely";
import { keccak256, stringToHex } from "viem";
import { lowerAddress } from "../../../flow/lower-address.ts";
import { rooms } from "../../../roles/open-store.ts";
import { migrate } from "../../../store/migrate.ts";
import type { Tables } from "../../../store/tables.ts";
import type { Parts } from "../../pass.ts";
import { scheduleBlocks } from "./blocks.ts";
import { type ChainModel, createChainModel } from "./chain-model.ts";
import type { Behaviour, VaultModel } from "./factory-model.ts";
import { type Random, type Scheduler, seededRandom } from "./scheduler.ts";
import { callsOf, drawIntent, toTipPrices, type Width } from "./width.ts";

export const factory: Hex = `0x${"fa".repeat(20)}`;
export const sender: Hex = `0x${"e0".repeat(20)}`;
export const senders: readonly Hex[] = [sender, `0x${"e1".repeat(20)}`];
export const shop: Hex = `0x${"50".repeat(20)}`;
export const tokens: readonly Hex[] = [`0x${"aa".repeat(20)}`, `0x${"bb".repeat(20)}`];
export const chainId = 7;
export const confirmations = 4;
const otherChainId = 8;
export const startSeconds = 1_800_000_000;

/**
 * Faults occur during this time, and most intents expire during it. Afterwards, there are no
 * faults, so that all work can end.
 */
export const stormSeconds = 1500;
export const endSeconds = 3600;

export type World = {
  db: Kysely<Tables>;
  chain: ChainModel;
  vaults: VaultModel[];
  /** When each address got its record, in seconds since the start. */
  knownAt: ReadonlyMap<Hex, number>;
  /** Settings of the simulated executor. */
  settings?: Pick<Parts["chain"], "finality" | "tipPrices">;
  close(): Promise<void>;
};

export type Crowd = { accounts: number; each: number; atSeconds: number };

type WorldOptions = {
  /** The number of intents whose simulation takes long. */
  hostile?: number;
  /**
   * Adds accounts. Each account has `each` slow intents. All these intents are paid in one block.
   */
  crowd?: Crowd;
  /**
   * Whether the same action always costs the same amount. The base fee is then constant, no other
   * executor takes part, and no execution fails.
   */
  isPlain?: boolean;
  /** The average number of seconds between two blocks; 12 by default. */
  blockSeconds?: number;
  /** Additional features. */
  width?: Width;
  /**
   * Whether all intents expired before the start. If so, the simulation has only a few intents, and
   * it is longer by the factor {@link overTimes}. All payments are late, and the executor polls
   * rarely between them.
   */
  isOver?: boolean;
};

/** The length of a simulation is multiplied by this number if all intents are expired. */
export const overTimes = 4;

export async function createWorld(
  scheduler: Scheduler,
  random: Random,
  isStormy: () => boolean,
  options: WorldOptions = {},
): Promise<World> {
  const { hostile = 0, isPlain = false, isOver = false, blockSeconds = 12, crowd, width } = options;
  const times = isOver ? overTimes : 1;
  const count = 8 + Math.floor(random() * 16);
  const vaults = Array.from({ length: Math.ceil(count / times ** 2) }, (_, i) =>
    newVault(random, i, { isOver, width, ...(isPlain ? { behaviour: "runs" } : {}) }),
  );
  for (let i = 0; i < hostile; i++) {
    vaults.push(newVault(random, vaults.length, heavy));
  }
  // Additional accounts use a separate random stream, so that all other random numbers stay the
  // same.
  const crowdRandom = seededRandom(1);
  const crowded = Array.from({ length: crowd ? crowd.accounts * crowd.each : 0 }, (_, i) =>
    newVault(crowdRandom, 1000 + i, heavy),
  );
  const byAddress = new Map([...vaults, ...crowded].map((vault) => [vault.address, vault]));
  const chain = createChainModel(
    { chainId, factory, senders, shop, startSeconds, confirmations, rules: width?.rules },
    byAddress,
  );
  const db = openMemory();
  await migrate(db, "sqlite", rooms);
  const knownAt = new Map<Hex, number>();
  for (const vault of vaults) {
    const paidAt =
      vault.behaviour === "heavy"
        ? payHostile(chain, scheduler, random, vault)
        : schedulePayments(chain, scheduler, random, vault, {
            rivalRate: isPlain ? 0 : 0.1,
            ...{ times, paySeconds: width?.paySeconds ?? 0 },
          });
    knownAt.set(vault.address, await scheduleCreate(db, scheduler, random, vault, paidAt));
  }
  if (crowd) await scheduleCrowd({ db, chain }, scheduler, crowded, crowd);
  if (isOver) scheduleObserver({ db, chain }, scheduler);
  const untilSeconds = endSeconds * times;
  const span = { startSeconds, stormSeconds, untilSeconds, blockSeconds };
  scheduleBlocks(chain, scheduler, random, isStormy, { isPlain, width, ...span });
  return {
    ...{ db, chain, knownAt, close: () => db.destroy() },
    vaults: [...vaults, ...crowded],
    settings: {
      finality: width?.finality ?? "blocks",
      tipPrices: width?.isTipped ? toTipPrices(tokens) : new Map(),
    },
  };
}

/**
 * Opens a database in memory. Reuses prepared statements, because a simulation often repeats the
 * same statements.
 */
export function openMemory(): Kysely<Tables> {
  const database = new Database(":memory:");
  const prepared = new Map<string, Database.Statement>();
  const prepare = (text: string) => {
    const statement = prepared.get(text) ?? database.prepare(text);
    prepared.set(text, statement);
    return statement as never;
  };
  const dialect = new SqliteDialect({ database: { prepare, close: () => database.close() } });
  return new Kysely<Tables>({ dialect });
}

/** An intent of this chain that does not expire before the simulation ends. */
const heavy = {
  behaviour: "heavy" as const,
  chainId,
  expirationSeconds: startSeconds + 86_400,
};

/**
 * If `isOver` is true, intents expire this number of seconds earlier than usual: 5 to 30 minutes
 * before the simulation starts.
 */
const overSeconds = 2100;

type Given = Partial<Pick<VaultModel, "behaviour" | "chainId" | "expirationSeconds">>;

function newVault(
  random: Random,
  index: number,
  { isOver = false, width, ...more }: Given & { isOver?: boolean; width?: Width | undefined } = {},
): VaultModel {
  const amount = BigInt(1 + Math.floor(random() * 1e6));
  const recovery: Hex = `0x${(index + 1).toString(16).padStart(40, "c")}`;
  const seconds = 300 + Math.floor(random() * 1500) - (isOver ? overSeconds : 0);
  const expirationSeconds = more.expirationSeconds ?? startSeconds + seconds;
  const isElsewhere = random() < 0.08;
  const token = tokens[Math.floor(random() * tokens.length)]!;
  const drawn = drawIntent(width, token, amount);
  const kept = String(amount - (drawn.tip?.amount ?? 0n));
  const pay = { target: shop, function: "pay(uint256 amount)", args: [kept] };
  const record = makeRecord(
    {
      token,
      amount: amount.toString(),
      calls: [pay, ...callsOf(drawn)],
      expirationTimestamp: expirationSeconds,
      recovery,
      salt: keccak256(stringToHex(`${index}:${random()}`)),
      chainId: more.chainId ?? (isElsewhere ? otherChainId : chainId),
    },
    { factory },
  );
  const behaviours: Behaviour[] = [
    "runs",
    "runs",
    "runs",
    "runs",
    "runs",
    "mends",
    "reverts",
    "poison",
  ];
  return {
    address: lowerAddress(record.address),
    terms: record.terms,
    token,
    amount,
    expirationSeconds,
    recovery,
    chainId: record.intent.chainId,
    behaviour: behaviours[Math.floor(random() * behaviours.length)]!,
    mendsAtSeconds: startSeconds + Math.floor(random() * 900),
    ...drawn,
    ...more,
  };
}

async function scheduleCrowd(
  { db, chain }: Pick<World, "db" | "chain">,
  scheduler: Scheduler,
  crowded: readonly VaultModel[],
  { accounts, atSeconds }: Crowd,
): Promise<void> {
  for (const [index, vault] of crowded.entries()) {
    const row = recordOf(vault, `slow${index % accounts}`, startSeconds * 1000);
    await db.insertInto("records").values(row).execute();
  }
  scheduler.at(atSeconds * 1000, () => {
    for (const { token, address: to, amount } of crowded) {
      chain.add({ kind: "pay", token, to, amount, onlyOnce: false });
    }
  });
}

const recordOf = (vault: VaultModel, accountId: string, createdAtMs: number) => ({
  address: fromHex(vault.address),
  terms: fromHex(vault.terms),
  chain_id: vault.chainId,
  token: fromHex(vault.token),
  amount: String(vault.amount),
  expires_at: vault.expirationSeconds,
  account_id: accountId,
  created_at: createdAtMs,
});

/**
 * Creates a record for an account that is chosen at random from four accounts. The record is
 * created before the simulation starts, or between one minute before and four minutes after the
 * payment. The clock of the server that creates the record is wrong by up to half a minute.
 * @returns the time of creation in seconds
 */
async function scheduleCreate(
  db: Kysely<Tables>,
  scheduler: Scheduler,
  random: Random,
  vault: VaultModel,
  paidAt: number,
): Promise<number> {
  const isEarly = vault.chainId !== chainId || random() < 0.5;
  const seconds = isEarly ? 0 : Math.max(0, paidAt - 60 + random() * 300);
  const clockError = isEarly ? 0 : random() * 60 - 30;
  const createdAtMs = Math.floor((startSeconds + seconds + clockError) * 1000);
  const row = recordOf(vault, `acc${Math.floor(random() * 4)}`, createdAtMs);
  const create = () => db.insertInto("records").values(row).execute();
  if (isEarly) await create();
  else scheduler.at(seconds * 1000, create);
  return seconds;
}

/** Pays the full amount at a random time. */
function payHostile(
  chain: ChainModel,
  scheduler: Scheduler,
  random: Random,
  { token, address: to, amount }: VaultModel,
): number {
  const seconds = random() * endSeconds * 0.8;
  const deed = { kind: "pay" as const, token, to, amount, onlyOnce: false };
  scheduler.at(seconds * 1000, () => chain.add(deed));
  return seconds;
}

/**
 * Schedules random payments to an address. A payer may also pay too much, too little, late, twice,
 * or not at all.
 * @returns the time of the first payment in seconds
 */
function schedulePayments(
  chain: ChainModel,
  scheduler: Scheduler,
  random: Random,
  vault: VaultModel,
  { rivalRate, times, paySeconds }: { rivalRate: number; times: number; paySeconds: number },
): number {
  const pay = (seconds: number, amount: bigint, token = vault.token) => {
    if (amount === 0n) return;
    const onlyOnce = random() < 0.3;
    const atSeconds = paySeconds > 0 ? Math.ceil(seconds / paySeconds) * paySeconds : seconds;
    scheduler.at(atSeconds * times * 1000, () =>
      chain.add({ kind: "pay", token, to: vault.address, amount, onlyOnce }),
    );
  };
  const when = 20 + random() * 900;
  const kind = random();
  if (kind < 0.5) pay(when, vault.amount);
  else if (kind < 0.6) pay(when, vault.amount * 2n);
  else if (kind < 0.7) pay(when, vault.amount / 2n);
  else if (kind < 0.85) {
    pay(when, vault.amount / 2n);
    pay(when + random() * 200, vault.amount - vault.amount / 2n);
  }
  if (random() < 0.2 * times) pay(when + 300 + random() * 1500, vault.amount);
  // A payment in another token must arrive after the record was created. For new records, the
  // executor reads only the balances of native coin and the intent's token.
  if (random() < 0.15)
    pay(
      when + 300,
      7n,
      tokens.find((token) => token !== vault.token),
    );
  if (random() < rivalRate) {
    scheduler.at(when * times * 1000 + 13_000, () => chain.add({ kind: "execute", vault }));
  }
  return when * times;
}

/**
 * Does the observer's work: marks each address as observed after the block `due_block` is mined.
 */
function scheduleObserver({ db, chain }: Pick<World, "db" | "chain">, scheduler: Scheduler): void {
  const observe = async () => {
    await db
      .updateTable("watches")
      .set({ due_block: null })
      .where("due_block", "<=", chain.blocks.length - 1)
      .execute();
    scheduler.at(scheduler.now() + 10_000, observe);
  };
  scheduler.at(10_000, observe);
}
