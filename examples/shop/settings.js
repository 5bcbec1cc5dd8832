// Reads the shop's settings from the environment. The default values come from .data/demo.json,
// which this repository's `npm start` writes.

import { readFileSync } from "node:fs";

const { env } = process;
const demo = readDemo(env.DEMO_FILE || new URL("../../.data/demo.json", import.meta.url));

export const settings = {
  port: Number(env.PORT || 3000),
  /** The database file with the orders. */
  database: env.DATABASE || "shop.db",
  /** The service's base URL, which ends in `/v1`. */
  baseUrl: env.BASE || demo?.baseUrl || missing("BASE"),
  apiKey: env.API_KEY || demo?.apiKey || missing("API_KEY"),
  /** Comma-separated URLs of nodes from independent operators. A majority must agree. */
  rpcs: (env.RPC_URL || demo?.rpcUrl || missing("RPC_URL")).split(","),
  /** The number of confirmations that a payment needs. The default of 0 is for the local chain. */
  confirmations: Number(env.CONFIRMATIONS || 0),
  /**
   * The account's reference keys, separated by commas, newest first. After a rotation, keep the
   * older keys.
   */
  referenceKeys: (env.REFERENCE_KEY || missing("REFERENCE_KEY")).split(","),
  /**
   * The secret of the webhook endpoint. During a rotation, set both secrets, separated by a comma.
   * Without a secret, the shop only polls for events.
   */
  webhookSecrets: (env.WEBHOOK_SECRET || "").split(",").filter(Boolean),
  chainId: Number(env.CHAIN_ID || 31337),
  /** The symbol of the token in the service's chain list. */
  token: env.TOKEN || "DUSD",
  /**
   * The address that receives the payments. The default is a well-known account of the local chain.
   */
  wallet: env.WALLET || "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65",
  /** The time within which a customer can pay an order. */
  orderSeconds: Number(env.ORDER_SECONDS || 1800),
  /** The interval at which the shop polls for events, in addition to webhooks. */
  reconcileMs: Number(env.RECONCILE_MS || 10_000),
};

function readDemo(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}

function missing(name) {
  console.error(`${name} is not set: README.md explains where to get its value`);
  process.exit(1);
}
