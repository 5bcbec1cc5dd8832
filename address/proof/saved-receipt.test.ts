// Tests valid receipts and tampered receipts (spec/receipt-vectors.json). The library and the
// scripts in docs/receipt must accept and refuse the same receipts. The library and the scripts
// share no code.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { startWorld } from "../../service/testing/chain/world.ts";
import { toHex } from "../abi/hex.ts";
import { factoryAddress, initCodePrefix } from "../deployment.ts";
import { chooseKeccak } from "../keccak/keccak.ts";
import { executedTopic } from "../status/factory-events.ts";
import { httpRpc, type Rpc, RpcError } from "../status/rpc.ts";
import { type Json, listHeaders } from "./build/fields.ts";
import {
  agreeOnReceipt,
  blockHashOf,
  findPayments,
  makeReceipt,
  proveAddress,
  proveAt,
  readAgreed,
  rebuild,
  receiptFormat,
  type SavedReceipt,
  verifyReceipt,
} from "./proof.ts";
import { vaultCodeHashes } from "./vault-code.ts";

const file = new URL("../../spec/receipt-vectors.json", import.meta.url);
const scripts = new URL("../../docs/receipt/", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "receipts-"));
after(() => rmSync(folder, { recursive: true }));

/** A receipt with `value` at `path` is refused. The reason contains the text `says`. */
type Tampered = { of: number; path: (string | number)[]; value: unknown; says: string };
type Vectors = { receipts: SavedReceipt[]; tampered: Tampered[] };

if (process.env.UPDATE_VECTORS) writeFileSync(file, `${JSON.stringify(await make(), null, 1)}\n`);
const { receipts, tampered } = JSON.parse(readFileSync(file, "utf8")) as Vectors;

async function make(): Promise<Vectors> {
  const world = await startWorld(undefined, "prague");
  const [executed, late] = [await world.newRecord(), await world.newRecord()];
  await world.pay(executed.address, 130n);
  await world.execute(executed);
  await world.mine(3);
  await world.mineAt(late.intent.expirationTimestamp + 1);
  const options = { rpcs: [world.rpcUrl] };
  const receipts = [await makeReceipt(executed, options), await makeReceipt(late, options)];
  // The third receipt contains all headers from the execution's block to the outcome's block.
  const deep = structuredClone(receipts[0]!) as { proof: { execution: { proof: object } } };
  const { number } = receipts[0]!.proof.execution!.block;
  const rpc = httpRpc(world.rpcUrl);
  const headers: string[] = [];
  for (let at = number; at <= receipts[0]!.proof.block.number; at++) {
    const block = await rpc("eth_getBlockByNumber", [`0x${at.toString(16)}`, false]);
    headers.push(headerOf(block as Json));
  }
  deep.proof.execution.proof = { ...deep.proof.execution.proof, headers };
  receipts.push(deep as unknown as SavedReceipt);
  await world.stop();
  const [first] = receipts as [SavedReceipt];
  const flip = (text: string) => text.replace(/.$/, (digit) => (digit === "0" ? "1" : "0"));
  const { header, account } = first.proof.proof;
  const evidence = first.proof.execution!.proof;
  const tampered: Tampered[] = [
    { of: 0, path: ["format"], value: "other/1", says: "format" },
    { of: 0, path: ["record", "address"], value: late.address, says: "address" },
    { of: 0, path: ["record", "intent", "amount"], value: "99", says: "terms" },
    { of: 0, path: ["record", "terms"], value: flip(first.record.terms), says: "terms" },
    { of: 0, path: ["proof", "outcome"], value: "closed", says: "outcome" },
    { of: 1, path: ["proof", "outcome"], value: "open", says: "outcome" },
    { of: 0, path: ["proof", "chainId"], value: 1, says: "chainId" },
    { of: 0, path: ["proof", "block", "number"], value: 1, says: "block" },
    { of: 0, path: ["proof", "block", "hash"], value: `0x${"ab".repeat(32)}`, says: "header" },
    { of: 0, path: ["proof", "proof", "header"], value: flip(header), says: "header" },
    { of: 0, path: ["proof", "proof", "account", 0], value: flip(account[0]!), says: "trie" },
    { of: 0, path: ["proof", "proof", "account"], value: account.slice(0, -1), says: "trie" },
    { of: 0, path: ["proof", "execution"], value: null, says: "execution" },
    { of: 0, path: ["proof", "execution", "held"], value: "131", says: "execution.held" },
    { of: 0, path: ["proof", "execution", "left"], value: "0", says: "execution.left" },
    {
      of: 0,
      path: ["proof", "execution", "transactionHash"],
      value: `0x${"ab".repeat(32)}`,
      says: "execution.transactionHash",
    },
    {
      of: 0,
      path: ["proof", "execution", "proof", "receipt", 0],
      value: flip(evidence.receipt[0]!),
      says: "trie",
    },
    { of: 0, path: ["payments", 0, "payments", 0, "amount"], value: "131", says: "payments" },
    { of: 0, path: ["payments", 0, "payments", 0, "from"], value: late.address, says: "payments" },
    { of: 0, path: ["payments", 0, "transactionHash"], value: header, says: "payments" },
    { of: 0, path: ["payments"], value: [{}], says: "block" },
    {
      of: 0,
      path: ["payments"],
      value: [first.payments[0], first.payments[0]],
      says: "expected each transaction once",
    },
    { of: 2, path: ["proof", "execution", "proof", "headers", 0], value: header, says: "header" },
  ];
  return { receipts, tampered };
}

function headerOf(block: Json): string {
  const keccak = chooseKeccak({});
  for (const header of listHeaders(block))
    if (toHex(keccak(header)) === block.hash) return toHex(header);
  throw new Error("a header that is not hashed as it should be");
}

function changed({ of, path, value }: Tampered): SavedReceipt {
  const copy = structuredClone(receipts[of]) as unknown as Record<string | number, unknown>;
  let at = copy;
  for (const step of path.slice(0, -1)) at = at[step] as typeof at;
  at[path.at(-1)!] = value;
  return copy as unknown as SavedReceipt;
}

const messageOf = (receipt: unknown) => {
  try {
    verifyReceipt(receipt, "its own");
    return "accepted";
  } catch (error) {
    const { issues, message } = error as { issues?: object[]; message: string };
    return issues ? JSON.stringify(issues) : message;
  }
};

describe("spec/receipt-vectors.json", () => {
  for (const each of tampered)
    test(`verifyReceipt refuses a changed ${each.path.join(".")}: ${each.says}`, () => {
      const message = messageOf(changed(each));
      assert.ok(message !== "accepted" && message.includes(each.says), message);
    });

  test("verifyReceipt reports the expected and the found value", () => {
    const [{ record, proof, payments }] = receipts as [SavedReceipt];
    const [{ proof: _, ...shown }] = payments as [SavedReceipt["payments"][number]];
    const { hash, number, timestamp } = shown.block;
    const [{ from, amount }] = shown.payments as [{ from: string; amount: string }];
    const block = `{"hash":"${hash}","number":${number},"timestamp":${timestamp}}`;
    const text = `{"amount":"${amount}","from":"${from}"}`;
    for (const [changed, message] of [
      [{ format: { toString: 1 } }, `format: expected ${receiptFormat}, found an object`],
      [
        { record: undefined, proof },
        "record and proof: expected objects, found nothing and an object",
      ],
      [{ record, proof: null }, "record and proof: expected objects, found an object and null"],
      [
        { payments: [{ block: { number: "7", hash: "0x12" } }] },
        'block: expected a number and a hash, found "7" and "0x12"',
      ],
      [
        { payments: [{ ...payments[0], payments: [] }] },
        `payments: expected the proven values {"block":${block},"payments":[${text}],` +
          `"transactionHash":"${shown.transactionHash}"}, found different values`,
      ],
      [{ payments: {} }, "payments: expected a list of at most 4 payments, found an object"],
      [
        { payments: Array(5).fill(payments[0]) },
        "payments: expected a list of at most 4 payments, found 5",
      ],
    ] as const)
      assert.equal(messageOf({ ...receipts[0], ...changed }), message);
  });

  test("verifyReceipt throws if one of the blocks is not trusted", () => {
    const [{ proof }] = receipts as [SavedReceipt];
    for (const hashes of [[], [proof.block.hash], [proof.execution!.block.hash]])
      assert.throws(() => verifyReceipt(receipts[0], hashes), { code: "invalid_proof" });
  });

  test("verifyReceipt returns the payments, transfers, and blocks", () => {
    const found = verifyReceipt(receipts[0], "its own");
    assert.equal(found.outcome, "executed");
    assert.deepEqual(
      found.payments.flatMap(({ payments }) => payments.map(({ amount }) => amount)),
      ["130"],
    );
    const { token, args } = { ...found.record.intent, args: found.record.intent.calls[0]!.args };
    assert.deepEqual(found.execution?.moved, [{ token, to: args[0], amount: args[1] }]);
    assert.equal(found.blocks.length, 3);
    const hashes = found.blocks.map(({ hash }) => hash);
    assert.equal(verifyReceipt(receipts[0], hashes).outcome, "executed");
    assert.equal(verifyReceipt(receipts[1], "its own").outcome, "never");
  });

  test("verifyReceipt counts the blocks from an execution to a trusted block", () => {
    const { proof, payments } = receipts[2]!;
    const { execution, block } = proof;
    // The headers lead from the execution's block to the outcome's block. The caller therefore does
    // not have to trust the execution's block.
    const found = verifyReceipt(receipts[2], [block.hash, payments[0]!.block.hash]);
    assert.equal(found.execution?.depth, block.number - execution!.block.number);
    assert.ok(found.execution.depth > 1);
  });
});

const gatherOptions = "rpcs, quorum, confirmations, factory, keccak";

test("the error of agreeOnReceipt for an invalid option contains no URL", async () => {
  const node = "https://node.example/key";
  for (const [options, message] of [
    [{ rpcs: node }, "rpcs: expected a list, found a string"],
    [{ rpcs: [] }, "rpcs: expected at least one, found none"],
    [{ rpcs: ["https://other.example", node, node] }, "rpcs[2]: is the same as rpcs[1]"],
    [{ rpcs: [node], quorum: 2 }, "quorum: expected an integer from 1 to 1, found 2"],
    [
      { rpcs: [node], confirmations: -1 },
      "confirmations: expected an integer of at least 0, found -1",
    ],
    [{ rpcs: [node], quorm: 1 }, `quorm: unknown option, expected one of ${gatherOptions}`],
  ] as const)
    await assert.rejects(agreeOnReceipt(receipts[0], options as never), {
      name: "TypeError",
      message,
    });
});

test("proof functions refuse an unknown option before they call a node", async () => {
  const rpc = () => assert.fail("a node was asked");
  const options = { rpcs: [rpc], confirmation: 5 };
  const { record, proof } = receipts[0]!;
  const block = { ...proof.block, chainId: proof.chainId, head: proof.block.number };
  for (const attempt of [
    () => blockHashOf([rpc], { chainId: 1, confirmation: 5 } as { chainId: number }),
    () => proveAddress(record, options),
    () => proveAt(record, block, options),
    () => readAgreed(record, block, options),
    () => findPayments(record, block, options),
    () => rebuild(block.hash, options),
    () => makeReceipt(record, options),
    () => agreeOnReceipt(receipts[0], options),
  ])
    await assert.rejects(attempt, {
      name: "TypeError",
      message: `confirmation: unknown option, expected one of ${gatherOptions}`,
    });
});

test("findPayments reports that nodes searched only the newest blocks", async () => {
  const nodeWith =
    (rangeMax: number): Rpc =>
    async (method, params) => {
      if (method === "eth_chainId") return "0x7a69";
      const { fromBlock, toBlock } = params[0] as Json;
      const range = Number(toBlock) - Number(fromBlock);
      if (range > rangeMax) throw new RpcError(-32005, `the range exceeds ${rangeMax} blocks`);
      return [];
    };
  const { record, proof } = receipts[0]!;
  const block = { ...proof.block, chainId: proof.chainId, head: 20_000 };
  const find = (number: number, rpcs: Rpc[]) =>
    findPayments(record, { ...block, number }, { rpcs });
  for (const [number, maxima, partial] of [
    [20_000, [10_000, 10_000], true],
    [20_000, [10_000, 30_000], true],
    [20_000, [30_000, 30_000], false],
    [9_000, [9_000, 9_000], false],
  ] as const) {
    const found = await find(number, maxima.map(nodeWith));
    assert.deepEqual([found.partial, found.disputed], [partial, false]);
  }
});

test("agreeOnReceipt throws if the nodes do not have the receipt's blocks", async () => {
  const world = await startWorld();
  const record = await world.newRecord();
  await world.pay(record.address, 100n);
  await world.execute(record);
  const rpcs = [world.rpcUrl];
  const receipt = await makeReceipt(record, { rpcs });
  assert.equal((await agreeOnReceipt(receipt, { rpcs })).length, 2);
  await assert.rejects(agreeOnReceipt(receipts[0], { rpcs }), {
    code: "no_quorum",
    message: /^block \d+: expected 1 of 1 endpoints to have the hash 0x\w{64}, found rpcs\[0\]: /,
  });
  await world.stop();
});

describe("makeReceipt with one or two nodes", () => {
  let world: Awaited<ReturnType<typeof startWorld>>;
  let record: Awaited<ReturnType<typeof world.newRecord>>;
  let honest: Rpc;
  before(async () => {
    world = await startWorld();
    record = await world.newRecord();
    await world.pay(record.address, 60n);
    await world.pay(record.address, 70n);
    await world.execute(record);
    honest = httpRpc(world.rpcUrl);
  });
  after(() => world.stop());

  /** A node that changes the logs of transfers before it returns them. */
  const lying =
    (change: (logs: Json[]) => unknown): Rpc =>
    async (method, params) => {
      const result = await honest(method, params);
      const isTransfers = JSON.stringify(params)
        .toLowerCase()
        .includes(record.intent.token.toLowerCase());
      return method === "eth_getLogs" && isTransfers ? change(result as Json[]) : result;
    };
  const invent = (logs: Json[]) =>
    [...logs, ...logs, ...logs].map((log, at) => ({
      ...log,
      transactionHash: `0x${String(at + 1).padStart(64, "0")}`,
      data: `0x${"f".repeat(64)}`,
    }));
  const amountsOf = ({ payments }: SavedReceipt) =>
    payments.flatMap((each) => each.payments.map(({ amount }) => amount));

  for (const [name, node] of [
    ["hides all payments", lying(() => [])],
    ["hides one payment", lying((logs) => logs.slice(1))],
    ["invents larger payments", lying(invent)],
    ["does not return a list", lying(() => ({ length: 4 }))],
    ["fails", lying(() => Promise.reject(new Error("timeout")))],
  ] as const)
    for (const rpcs of [
      [node, (method, params) => honest(method, params)],
      [(method, params) => honest(method, params), node],
    ] satisfies Rpc[][])
      test(`makeReceipt proves every payment even if one of two nodes ${name}`, async () => {
        const receipt = await makeReceipt(record, { rpcs });
        assert.deepEqual(amountsOf(receipt), ["60", "70"]);
        assert.equal(receipt.paymentsDisputed, true);
        assert.equal(verifyReceipt(receipt, "its own").payments.length, 2);
      });

  test("makeReceipt marks the payments as disputed if the only node fails", async () => {
    const rpcs = [lying(() => Promise.reject(new Error("timeout")))];
    const receipt = await makeReceipt(record, { rpcs });
    assert.deepEqual(receipt.payments, []);
    assert.equal(receipt.paymentsDisputed, true);
  });

  test("makeReceipt does not mark the payments as disputed if the nodes agree", async () => {
    const again: Rpc = (method, params) => honest(method, params);
    const receipt = await makeReceipt(record, { rpcs: [honest, again] });
    assert.deepEqual(amountsOf(receipt), ["60", "70"]);
    assert.equal(Object.hasOwn(receipt, "paymentsDisputed"), false);
  });
});

describe("docs/receipt", () => {
  const path = join(folder, "receipt.json");
  const say = (command: string, script: string, receipt: unknown) => {
    writeFileSync(path, JSON.stringify(receipt));
    return spawnSync(command, [join(scripts, script), path], {
      encoding: "utf8",
      env: { ...process.env, PYTHONDONTWRITEBYTECODE: "1" },
    });
  };
  let imports = 0;
  /**
   * Runs a script in this process. A new process ({@link say}) would need 0.3 s of CPU time per
   * receipt to load viem.
   */
  const sayHere = async (script: string, receipt: unknown) => {
    writeFileSync(path, JSON.stringify(receipt));
    process.argv[2] = path;
    try {
      await import(`${scripts}${script}?${++imports}`);
      return { status: 0, stderr: "" };
    } catch (error) {
      return { status: 1, stderr: String(error) };
    }
  };
  /**
   * The library and the scripts refuse the same receipt with different messages. Maps a word of the
   * library's message to a pattern for the scripts' message.
   */
  const reasons: Record<string, RegExp> = {
    format: /another format/,
    address: /(another address|the terms are another address's)/,
    terms: /(another address|the terms are another address's)/,
    outcome: /(another outcome or chain|it is \w+)/,
    chainId: /(another outcome or chain|it is \w+)/,
    header: /(another header|the header is another block's)/,
    trie: /(Invalid proof|a node is not of the trie|the way down the trie is cut)/,
    execution: /there is no execution/,
    "execution.held": /other amounts/,
    "execution.left": /other amounts/,
  };
  const hasPython = spawnSync("python3", ["--version"]).status === 0;
  /**
   * Returns whether a script reads the tampered field. No script reads `intent`, payments, block
   * numbers, or transaction hashes.
   */
  const isReadBy = (script: string, { of, path }: Tampered) =>
    of < 2 &&
    path[0] !== "payments" &&
    path[1] !== "intent" &&
    !/^(number|transactionHash)$/.test(String(path[2])) &&
    (script === "verify.py" || path[1] !== "execution");

  test("the constants in the scripts match the library", () => {
    const { executed, closed } = vaultCodeHashes(factoryAddress, chooseKeccak({}));
    for (const name of ["verify.js", "verify.py"]) {
      const text = readFileSync(join(scripts, name), "utf8").toLowerCase();
      const wanted = [factoryAddress, initCodePrefix, toHex(executed), toHex(closed)];
      for (const each of name === "verify.py" ? [...wanted, executedTopic] : wanted)
        assert.ok(text.includes(each.slice(2).toLowerCase()), `${name}: ${each}`);
    }
  });

  for (const [command, script] of [
    [process.execPath, "verify.js"],
    ["python3", "verify.py"],
  ] as const)
    test(`${script} prints a receipt's outcome and refuses a changed receipt`, {
      skip: command === "python3" && !hasPython ? "there is no python3 here" : false,
    }, async ({ mock }) => {
      for (const receipt of receipts.slice(0, 2)) {
        const { stdout, stderr } = say(command, script, receipt);
        assert.match(stdout, new RegExp(`is ${receipt.proof.outcome}\n$`), stderr);
      }
      mock.method(console, "log", () => {});
      const sayOf = (each: Tampered) =>
        script === "verify.js"
          ? sayHere(script, changed(each))
          : say(command, script, changed(each));
      for (const each of tampered.filter((one) => isReadBy(script, one))) {
        const { status, stderr } = await sayOf(each);
        assert.equal(status, 1, each.path.join());
        assert.match(stderr, reasons[each.says]!, each.path.join());
      }
      // The scripts accept changes in fields that they do not read (docs/verifying.md).
      for (const each of tampered.filter((one) => one.of < 2 && !isReadBy(script, one)))
        assert.equal((await sayOf(each)).status, 0, each.path.join());
    });
});
