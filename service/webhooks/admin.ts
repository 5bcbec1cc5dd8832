// Defines the operator's commands for webhooks. The commands change the database, and take effect
// immediately.

import type { Command, CommandContext, Given } from "../admin/command.ts";
import { confirmationsMax, listConfirmations, setConfirmations } from "../events/confirmations.ts";
import type { WhichEvents } from "../events/list.ts";
import { hourMs, toIsoOrNull } from "../flow/days.ts";
import { addTestDelivery, replay, replayInput } from "./deliveries/enqueue.ts";
import { deliveriesShown, listDeliveries } from "./deliveries/list.ts";
import {
  addEndpoint,
  findEndpoint,
  listEndpoints,
  removeEndpoint,
  rotateSecret,
  setPaused,
} from "./endpoints.ts";
import type { Targets } from "./guard.ts";
import { ensureSigningKeys, overlapMs, rotateSigningKey, shownKey } from "./sign.ts";

const overlapHours = overlapMs / hourMs;
const operator = () => ({ atMs: Date.now() });
const account = { account: "ID" };
const endpoint = { account: "ID", endpoint: "ID" };

export const webhookCommands = (targets: Targets): Command[] => [
  ...ofEndpoints(targets),
  ...ofDeliveries,
];

const ofEndpoints = (targets: Targets): Command[] => [
  {
    words: "webhook add",
    does: "Adds an endpoint for these event types, or for all types, and prints its secret.",
    options: { ...account, url: "URL" },
    rest: "[TYPE ...]",
    run: ({ store: { db } }, { options, rest }) =>
      addEndpoint(db, options.account!, { url: options.url!, types: rest, targets }, operator()),
  },
  {
    words: "webhook list",
    does: "Lists the account's endpoints and the service's public keys.",
    options: account,
    run: async ({ store: { db } }, { options }) => ({
      endpoints: await listEndpoints(db, options.account!),
      publicKeys: (await ensureSigningKeys(db, Date.now())).map(shownKey),
    }),
  },
  ...(["pause", "resume"] as const).map((word) => ({
    words: `webhook ${word}`,
    does: `${word === "pause" ? "Pauses" : "Resumes"} the deliveries to an endpoint.`,
    options: endpoint,
    run: async ({ store: { db } }: CommandContext, { options }: Given) =>
      assertDone(
        options,
        await setPaused(db, options.account!, options.endpoint!, word === "pause", operator()),
      ),
  })),
  {
    words: "webhook rotate",
    does: `Creates a new secret for an endpoint. For ${overlapHours} hours, both sign each event.`,
    options: endpoint,
    run: async ({ store: { db } }, { options }) =>
      assertDone(options, await rotateSecret(db, options.account!, options.endpoint!, operator())),
  },
  {
    words: "webhook rotate-key",
    does: `Creates a signing key of the service. For ${overlapHours} hours, both sign each event.`,
    run: async ({ store: { db } }) => ({
      publicKeys: (await rotateSigningKey(db, Date.now())).map(shownKey),
    }),
  },
  {
    words: "webhook remove",
    does: "Removes an endpoint and its pending deliveries.",
    options: endpoint,
    run: async ({ store: { db } }, { options }) =>
      assertDone(
        options,
        await removeEndpoint(db, options.account!, options.endpoint!, operator()),
      ),
  },
];

/**
 * Commands that send events to an endpoint, list its deliveries, and set the number of
 * confirmations.
 */
const ofDeliveries: Command[] = [
  {
    words: "webhook test",
    does: "Sends a test event to an endpoint.",
    options: endpoint,
    async run({ store: { db } }, { options }) {
      const { id } = await requireEndpoint(db, options);
      return { deliveryId: await addTestDelivery(db, id, Date.now()) };
    },
  },
  {
    words: "webhook replay",
    does: "Sends an event, or the events of a time range, to an endpoint again.",
    options: { ...endpoint, event: "EVENT", from: "TIME", until: "TIME" },
    optional: ["event", "from", "until"],
    async run({ store: { db } }, { options }) {
      const { id } = await requireEndpoint(db, options);
      const which = parseReplayed(options);
      const { replayed, nextMs } = await replay(db, options.account!, id, which, Date.now());
      return { replayed, next: toIsoOrNull(nextMs) };
    },
  },
  {
    words: "webhook confirmations",
    does: "Lists the confirmations that events need on each chain. Changes them with --chain.",
    options: { ...account, chain: "CHAIN", confirmations: "NUMBER" },
    optional: ["chain", "confirmations"],
    async run({ store: { db } }, { options }) {
      const { chain, confirmations } = options;
      if (chain !== undefined) {
        const depth =
          confirmations === undefined ? null : wholeNumber(confirmations, confirmationsMax);
        const chainId = wholeNumber(chain, Number.MAX_SAFE_INTEGER);
        await setConfirmations(db, options.account!, chainId, depth);
      }
      return listConfirmations(db, options.account!);
    },
  },
  {
    words: "webhook deliveries",
    does: "Lists the newest deliveries to an endpoint.",
    options: endpoint,
    async run({ store: { db } }, { options }) {
      const { id } = await requireEndpoint(db, options);
      return listDeliveries(db, id, deliveriesShown);
    },
  },
];

function parseReplayed({ event, from, until }: Given["options"]): WhichEvents {
  const given = Object.entries({ event, from, until }).filter(([, text]) => text !== undefined);
  const input = given.map(([name, text]) => [name === "event" ? "eventId" : name, text]);
  const parsed = replayInput.safeParse(Object.fromEntries(input));
  if (parsed.success) return parsed.data;
  const found = given.map(([name, text]) => `--${name} ${text}`).join(" ") || "none of them";
  const wanted = "--event ID, or --from TIME and --until LATER_TIME (such as 2026-11-22T06:00:00Z)";
  throw new Error(`expected ${wanted}, found ${found}`);
}

function wholeNumber(text: string, max: number): number {
  const number = Number(text);
  if (/^[0-9]+$/.test(text) && number <= max) return number;
  throw new Error(`expected a whole number from 0 to ${max}, found ${text}`);
}

/** @throws if the account has no such endpoint */
const requireEndpoint = async (db: CommandContext["store"]["db"], options: Given["options"]) =>
  assertDone(options, await findEndpoint(db, options.account!, options.endpoint!));

function assertDone<Found>(
  { endpoint, account }: Given["options"],
  found: Found | undefined | false,
): Found {
  if (found) return found;
  throw new Error(`the account has no endpoint ${endpoint}: see webhook list --account ${account}`);
}
