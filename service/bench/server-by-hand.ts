// A simple server with the guarantees of this service. The server uses Fastify with a schema, and
// derives addresses with viem. Each create request runs one insert with better-sqlite3. The server
// verifies each record that it reads, and has one API key and no limits.

import { hash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { factoryAddress, type Intent, initCodePrefix } from "executable-address";
import Fastify from "fastify";
import {
  concatHex,
  decodeAbiParameters,
  encodeAbiParameters,
  getContractAddress,
  type Hex,
  numberToHex,
  parseAbiItem,
  parseAbiParameters,
} from "viem";
import { intentOf } from "./intents.ts";

const parameters = parseAbiParameters([
  "Intent intent",
  "struct Call { address target; string signature; string names; bytes args; }",
  `struct Intent { address token; uint256 amount; Call[] calls; uint64 expirationTimestamp;
    address recovery; bytes32 salt; uint256 chainId; }`.replace(/\s+/g, " "),
]);

function callOf({ target, function: text, args }: Intent["calls"][number]) {
  const item = parseAbiItem(`function ${text}`);
  if (item.type !== "function") throw new Error("no function");
  const types = item.inputs.map((input) => input.type);
  const values = args.map((arg, i) => (/^u?int/.test(types[i]!) ? BigInt(arg) : arg));
  return {
    target,
    signature: `${item.name}(${types.join(",")})`,
    names: item.inputs.map((input) => input.name).join(","),
    args: encodeAbiParameters(item.inputs, values),
  };
}

function termsOf(intent: Intent): Hex {
  const { token, recovery, salt, expirationTimestamp } = intent;
  const amount = BigInt(intent.amount);
  const chainId = BigInt(intent.chainId);
  const calls = intent.calls.map(callOf);
  const expiry = BigInt(expirationTimestamp);
  return encodeAbiParameters(parameters, [
    { token, amount, calls, expirationTimestamp: expiry, recovery, salt, chainId },
  ]);
}

const addressOf = (terms: Hex) =>
  getContractAddress({
    opcode: "CREATE2",
    from: factoryAddress,
    salt: numberToHex(0, { size: 32 }),
    bytecode: concatHex([initCodePrefix, terms]),
  });

const directory = mkdtempSync(join(tmpdir(), "bench-by-hand-"));
process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
const database = new Database(join(directory, "service.db"));
database.pragma("journal_mode = wal");
database.pragma("synchronous = full");
database.exec("create table records (address text primary key, intent text, terms text)");
database.exec("create table keys (digest text primary key, account text)");
const key = `svc_sk_${"0".repeat(64)}`;
database.prepare("insert into keys values (?, ?)").run(hash("sha256", key), "acc_1");
const insert = database.prepare("insert or ignore into records values (?, ?, ?)");
const select = database.prepare<[string], { intent: string; terms: Hex }>(
  "select intent, terms from records where address = ?",
);
const account = database.prepare("select account from keys where digest = ?");

const text = { type: "string" };
const call = {
  type: "object",
  required: ["target", "function", "args"],
  properties: { target: text, function: text, args: { type: "array", items: text } },
};
const body = {
  type: "object",
  required: ["token", "amount", "calls", "expirationTimestamp", "recovery", "salt", "chainId"],
  properties: { token: text, amount: text, calls: { type: "array", items: call } },
};

const app = Fastify();
app.post<{ Body: Intent }>("/v1/address/create", { schema: { body } }, (request, reply) => {
  const bearer = request.headers.authorization?.slice("Bearer ".length) ?? "";
  if (!account.get(hash("sha256", bearer))) return reply.code(401).send({ error: "unknown key" });
  const intent = request.body;
  const terms = termsOf(intent);
  const address = addressOf(terms);
  insert.run(address.toLowerCase(), JSON.stringify(intent), terms);
  return reply.send({ address, factory: factoryAddress, intent, terms });
});
app.get<{ Params: { address: string } }>("/v1/address/:address", (request, reply) => {
  const row = select.get(request.params.address.toLowerCase());
  if (!row) return reply.code(404).send({ error: "not found" });
  const { terms } = row;
  const address = addressOf(terms);
  decodeAbiParameters(parameters, terms);
  if (address.toLowerCase() !== request.params.address.toLowerCase()) throw new Error("corrupt");
  reply.header("Cache-Control", "public, max-age=31536000, immutable");
  return { address, factory: factoryAddress, intent: JSON.parse(row.intent), terms };
});

const [, , records, expiry] = process.argv;
const fill = database.transaction(() => {
  for (let number = 0; number < Number(records); number++) {
    const intent = intentOf(number, Number(expiry));
    const terms = termsOf(intent);
    insert.run(addressOf(terms).toLowerCase(), JSON.stringify(intent), terms);
  }
});
fill();
await app.listen({ port: 0, host: "127.0.0.1" });
process.send!({ port: (app.server.address() as AddressInfo).port, keys: [key] });
// Before and after each round, the parent asks for the processor time of this process.
process.on("message", () => process.send!(process.cpuUsage()));
process.on("disconnect", () => process.exit());
