// What the shop has to know, from the environment; what is left out is that of `npm start` of the
// service in this repository, which leaves it in .data/demo.json.

import { readFileSync } from "node:fs";

const { env } = process;
const demo = readDemo(env.DEMO_FILE || new URL("../../.data/demo.json", import.meta.url));

export const settings = {
  port: Number(env.PORT || 3000),
  /** The file of the orders. */
  database: env.DATABASE || "shop.db",
  /** The service's base URL, which ends in `/v1`. */
  baseUrl: env.BASE || demo?.baseUrl || missing("BASE"),
  apiKey: env.API_KEY || demo?.apiKey || missing("API_KEY"),
  /** Nodes of operators apart, with commas between: more than half must show what is so. */
  rpcs: (env.RPC_URL || demo?.rpcUrl || missing("RPC_URL")).split(","),
  /** Blocks upon a payment before it counts: none on the local chain, which has none to spare. */
  confirmations: Number(env.CONFIRMATIONS || 0),
  /** The account's reference key; after a rotation the newest, then the older, with commas. */
  referenceKeys: (env.REFERENCE_KEY || missing("REFERENCE_KEY")).split(","),
  /** Without one, events are only fetched. During a rotation both, with a comma between. */
  webhookSecrets: (env.WEBHOOK_SECRET || "").split(",").filter(Boolean),
  chainId: Number(env.CHAIN_ID || 31337),
  /** The symbol, in the service's list of the chain's tokens. */
  token: env.TOKEN || "DUSD",
  /** Where the shop is paid. On the local chain an account that everybody knows. */
  wallet: env.WALLET || "0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65",
  /** How long an order may be paid. */
  orderSeconds: Number(env.ORDER_SECONDS || 1800),
  /** How often events are fetched, whatever webhooks came. */
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
  console.error(`${name} is not set: README.md says where it comes from`);
  process.exit(1);
}
