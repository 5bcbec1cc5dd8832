// Tests every kind of finding on a chain. Each test checks two similar intents. The trap contains
// the mistake, and the twin does not. The test also pays the twin's address, and the execution must
// succeed.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  type AddressRecord,
  type Call,
  type Hex,
  type Intent,
  payWithTolerance,
} from "executable-address";
import { type Finding, type FindingCode, findingCodes } from "executable-address/client";
import { deterministicDeployer, periphery } from "executable-address-contracts";
import { deployOnce } from "executable-address-contracts/deploy";
import { concat, encodeFunctionData, getContractAddress, parseAbi, toHex } from "viem";
import { type Manner, NodeError } from "../../testing/chain/node.ts";
import { deployOdd } from "../../testing/chain/odd-contracts.ts";
import {
  type SimulatedWorld,
  shop,
  startSimulated,
  stranger,
} from "../../testing/chain/simulated.ts";
import { payer } from "../../testing/chain/world.ts";
import { executionGasMax } from "../gas-limits.ts";
import { openChecks } from "./checks.ts";

const amount = "5000000";
const abi = parseAbi([
  "function transfer(address to, uint256 amount)",
  "function setBlocked(address account, bool blocked)",
  "function pause(bool paused)",
  "function lie(uint256 claimed, uint256 size, bool reverts)",
]);

let world: SimulatedWorld;
const tokens: { symbol: string; address: Hex; decimals: number }[] = [];

before(async () => {
  world = await startSimulated();
  await list(world.token);
});
after(() => world?.stop());

/** Adds a token to the listed tokens, and gives a million whole tokens to the payer. */
async function list(token: Hex): Promise<Hex> {
  tokens.push({ symbol: "DMO", address: token, decimals: 6 });
  await world.pay(payer, 1_000_000_000_000n, token);
  return token;
}

const odd = async (name: string) => list(await world.deployOdd(name));
const fiat = async () => list(await deployOdd(world, "FiatToken"));

async function call(to: Hex, data: Hex) {
  const hash = await world.client.sendTransaction({ to, data });
  await world.client.waitForTransactionReceipt({ hash });
}

const transfer = (token: Hex, to = shop, of = amount): Call => ({
  target: token,
  function: "transfer(address to, uint256 amount)",
  args: [to, of],
});

/** By default, the intent's call pays `amount` to the shop. */
const record = (change: Partial<Intent> = {}) =>
  world.newRecord({
    ...{ amount, calls: [transfer(change.token ?? world.token, shop, change.amount ?? amount)] },
    ...change,
  });

const depths = { confirmations: 32, paymentConfirmations: 0 };

function checkAt(given: AddressRecord, url = world.rpcUrl) {
  const chain = { ...world.chainAt(url), tokens, ...depths };
  return openChecks(chain)(given);
}
const check = async (given: AddressRecord, url?: string): Promise<readonly Finding[]> =>
  (await checkAt(given, url)).findings;

const codesOf = (findings: readonly Finding[]) => findings.map(({ code }) => code);
const placeOf = (findings: readonly Finding[], code: FindingCode) =>
  findings.find((finding) => finding.code === code)?.path.join(".");

async function payAndExecute({ address, intent, ...rest }: AddressRecord) {
  const args = [address, BigInt(intent.amount)] as const;
  await call(intent.token, encodeFunctionData({ abi, functionName: "transfer", args }));
  await world.execute({ address, intent, ...rest }, BigInt(executionGasMax));
}

/**
 * Deploys code that sends its whole balance to `receiver`. PUSH0 4 times, SELFBALANCE, PUSH20 the
 * receiver, GAS, CALL.
 */
async function giver(receiver: Hex): Promise<Hex> {
  const address = await world.withCode(concat(["0x5f5f5f5f4773", receiver, "0x5af100"]));
  await world.client.setBalance({ address, value: 7n });
  return address;
}

let creations = 0n;
/**
 * Returns a call that deploys a contract, and the contract's address. The last 36 bytes of the
 * calldata are the init code. The contract's code is one STOP.
 */
async function creation(): Promise<{ create: Call; created: Hex }> {
  const head = concat([toHex(++creations, { size: 28 }), "0x60015ff3"]);
  const code = toHex(0n, { size: 32 });
  const create: Call = {
    target: deterministicDeployer.address,
    function: "make(bytes32 head, bytes32 code)",
    args: [head, code],
  };
  const data = encodeFunctionData({
    abi: parseAbi(["function make(bytes32 head, bytes32 code)"]),
    args: [head, code],
  });
  const created = getContractAddress({
    opcode: "CREATE2",
    from: deterministicDeployer.address,
    salt: data.slice(0, 66) as Hex,
    bytecode: `0x${data.slice(66)}`,
  });
  return { create, created };
}

const visit = (target: Hex): Call => ({ target, function: "visit()", args: [] });
const approve = (spender: Hex, of: string): Call => ({
  target: world.token,
  function: "approve(address spender, uint256 amount)",
  args: [spender, of],
});
const payShop = () => world.onShop("pay(address token, uint256 amount)", world.token, amount);

type Pair = {
  code: FindingCode;
  /** The path of the finding. */
  at: string;
  trap: () => Promise<AddressRecord>;
  twin: () => Promise<AddressRecord>;
};

const pairs: Pair[] = [
  {
    code: "address_is_over",
    at: "salt",
    async trap() {
      const served = await record();
      await payAndExecute(served);
      return served;
    },
    twin: () => record(),
  },
  {
    code: "not_simulated",
    at: "",
    async trap() {
      const token = await world.deployOdd("LyingToken");
      const args = [0n, 32n, false] as const;
      await call(token, encodeFunctionData({ abi, functionName: "lie", args }));
      return record({ token });
    },
    twin: async () => record({ token: await odd("SilentToken") }),
  },
  {
    code: "target_without_code",
    at: "calls.1.target",
    trap: () => record({ calls: [transfer(world.token), visit(stranger)] }),
    async twin() {
      const { create, created } = await creation();
      return record({ calls: [transfer(world.token), create, visit(created)] });
    },
  },
  {
    code: "target_is_wallet",
    at: "calls.1.target",
    async trap() {
      const wallet = await world.withCode(concat(["0xef0100", world.target]));
      return record({ calls: [transfer(world.token), visit(wallet)] });
    },
    async twin() {
      const contract = await world.withCode(concat(["0x00", "0xef0100", toHex(0n, { size: 19 })]));
      return record({ calls: [transfer(world.token), visit(contract)] });
    },
  },
  {
    code: "call_reverts",
    at: "calls.1",
    trap: () => record({ calls: [transfer(world.token), world.onShop("fail()")] }),
    twin: () => record({ calls: [transfer(world.token), world.onShop("visit()")] }),
  },
  {
    code: "money_left_over",
    at: "amount",
    trap: () => record({ calls: [transfer(world.token, shop, "4000000")] }),
    twin: () =>
      record({
        calls: [transfer(world.token, shop, "4000000"), transfer(world.token, stranger, "1000000")],
      }),
  },
  {
    code: "other_tokens_left",
    at: "calls",
    async trap() {
      // Bytecode of `giver`, with CALLER as the receiver.
      const target = await world.withCode("0x5f5f5f5f47335af100");
      await world.client.setBalance({ address: target, value: 7n });
      return record({ calls: [transfer(world.token), visit(target)] });
    },
    twin: async () => record({ calls: [transfer(world.token), visit(await giver(shop))] }),
  },
  {
    code: "allowance_left",
    at: "calls.0.args.1",
    trap: () => record({ calls: [approve(world.target, "5000001"), payShop()] }),
    twin: () => record({ calls: [approve(world.target, amount), payShop()] }),
  },
  {
    code: "amount_decimals",
    at: "amount",
    trap: () => record({ amount: "25" }),
    twin: () => record({ amount: "25000000" }),
  },
  {
    code: "amount_beyond_supply",
    at: "amount",
    trap: async () => record({ token: await odd("NoZeroApproveToken"), amount: "1000000000001" }),
    twin: async () => record({ token: await odd("NoZeroApproveToken"), amount: "1000000000000" }),
  },
  {
    code: "recovery_cannot_receive",
    at: "recovery",
    trap: () => blocked(fiat, (one) => ({ recovery: one })),
    twin: () => blocked(fiat, () => ({})),
  },
  {
    code: "recovery_refuses_coin",
    at: "recovery",
    trap: () => record({ recovery: world.target }),
    twin: async () => record({ recovery: await world.withCode("0x00f4") }),
  },
  {
    code: "recovery_is_token",
    at: "recovery",
    trap: async () => record({ recovery: await odd("NoZeroApproveToken") }),
    // Bytecode that accepts native coin and returns 31 bytes for every call. The bytecode also
    // contains a DELEGATECALL, which never runs.
    twin: async () => record({ recovery: await world.withCode("0x601f5ff3f4") }),
  },
  {
    code: "token_paused",
    at: "token",
    trap: () => paused(true),
    twin: () => paused(false),
  },
  {
    code: "token_blocks_address",
    at: "calls.0.args.0",
    trap: () =>
      blocked(
        () => odd("BlockingToken"),
        (one, token) => ({ calls: [transfer(token, one)] }),
      ),
    twin: () =>
      blocked(
        () => odd("BlockingToken"),
        () => ({}),
      ),
  },
  {
    code: "token_refuses_transfers",
    at: "token",
    trap: async () => record({ token: await odd("FalseToken") }),
    twin: async () => record({ token: await odd("NoZeroApproveToken") }),
  },
  {
    code: "token_takes_fee",
    at: "token",
    trap: async () => record({ token: await odd("FeeToken") }),
    twin: async () => record({ token: await odd("BoastingToken") }),
  },
  {
    code: "gas_beyond_ceiling",
    at: "calls",
    trap: () => stocking("200"),
    twin: () => stocking("140"),
  },
  {
    code: "work_depends_on_gas",
    at: "calls",
    trap: () => tolerating("tryWorkWithHalf(uint256 items)", "15"),
    // The target gives almost all of its gas to an inner call. If the inner call runs out of gas,
    // less than a quarter of the gas is left. The factory then reverts, so incomplete work cannot
    // succeed.
    twin: () => tolerating("tryWork(uint256 depth, uint256 items)", "1", "15"),
  },
  {
    code: "expires_too_near",
    at: "expirationTimestamp",
    trap: () => expiring(60),
    twin: () => expiring(90),
  },
  {
    code: "money_lost",
    at: "calls.0.args.0",
    trap: () => record({ calls: [transfer(world.token, world.token)] }),
    twin: () => record({ calls: [transfer(world.token, stranger)] }),
  },
  {
    code: "receiver_cannot_move",
    at: "calls.0.args.0",
    trap: () => record({ calls: [transfer(world.token, world.target)] }),
    twin: () => record({ calls: [approve(world.target, amount), payShop()] }),
  },
  {
    code: "fails_at_expiry",
    at: "expirationTimestamp",
    trap: () => closing(3000),
    twin: () => closing(4000),
  },
  {
    code: "depends_on_executor",
    at: "calls",
    // Bytecode that reverts if ORIGIN is zero, as in a simulation without a sender.
    trap: async () => visiting(await world.withCode("0x32600557005b5f5ffd")),
    twin: async () => visiting(await world.withCode("0x3250")),
  },
];

const visiting = (target: Hex) => record({ calls: [transfer(world.token), visit(target)] });

/**
 * Makes a record whose call reverts after this number of seconds. The intent expires in an hour.
 */
async function closing(seconds: number) {
  const { timestamp } = await world.client.getBlock();
  // TIMESTAMP, PUSH8 end, LT, PUSH1 15, JUMPI, STOP, JUMPDEST, and a revert.
  const end = toHex(timestamp + BigInt(seconds), { size: 8 });
  return visiting(await world.withCode(concat(["0x4267", end, "0x10600f57005b5f5ffd"])));
}

const stocking = (items: string) =>
  record({ calls: [transfer(world.token), world.onShop("stock(uint256 items)", items)] });

async function tolerating(text: string, ...args: string[]) {
  const target = await deployOdd(world, "Tolerant");
  return record({ calls: [transfer(world.token), { target, function: text, args }] });
}

/** Makes a record that expires after `seconds`. The chain has a block every two seconds. */
async function expiring(seconds: number) {
  await world.client.mine({ blocks: 120, interval: 2 });
  const { timestamp } = await world.client.getBlock();
  return record({ expirationTimestamp: Number(timestamp) + seconds });
}

async function paused(is: boolean) {
  const token = await fiat();
  await call(token, encodeFunctionData({ abi, functionName: "pause", args: [is] }));
  return record({ token });
}

/** Makes a record of an intent whose token blocks the address `stranger`. */
async function blocked(
  issue: () => Promise<Hex>,
  change: (blocked: Hex, token: Hex) => Partial<Intent>,
) {
  const token = await issue();
  const args = [stranger, true] as const;
  await call(token, encodeFunctionData({ abi, functionName: "setBlocked", args }));
  return record({ token, ...change(stranger, token) });
}

describe("a check", () => {
  test("every kind of finding except three has a test in this file", () => {
    // http/create/check.test.ts tests the finding that needs the database. recovery.test.ts tests
    // the findings that need a second chain or many transactions.
    const apart = [
      "condition_of_other_chain",
      "recovery_without_code_on",
      "recovery_looks_like_exchange",
    ];
    const onChain = findingCodes.filter((code) => !apart.includes(code));
    assert.deepEqual(pairs.map(({ code }) => code).toSorted(), onChain.toSorted());
  });

  for (const { code, at, trap, twin } of pairs) {
    test(`finds ${code} and suggests a remedy`, async () => {
      const findings = await check(await trap());
      assert.ok(codesOf(findings).includes(code), `found ${JSON.stringify(findings)}`);
      assert.equal(placeOf(findings, code), at);
      for (const { message, cure } of findings) assert.ok(message.length > 10 && cure.length > 10);
    });

    test(`reports no findings for a correct intent that only looks like ${code}`, async () => {
      const innocent = await twin();
      assert.deepEqual(await check(innocent), []);
      await payAndExecute(innocent);
    });
  }

  test("finds nothing if an intent leaves an allowance for the Collector contract", async () => {
    await deployOnce(world.client, periphery.collector.bytecode);
    const [least, most] = [BigInt(amount), BigInt(amount) + 1n];
    const parts = payWithTolerance({ token: world.token, recipient: shop, least, most });
    assert.deepEqual(await check(await record(parts)), []);
  });

  test("returns the note `target_may_change` for a target that can be paused", async () => {
    const pausing = await fiat();
    const to = (target: Hex) =>
      record({ calls: [transfer(world.token), transfer(target, shop, "0")] });
    const { findings, notes } = await checkAt(await to(pausing));
    assert.deepEqual(findings, []);
    assert.deepEqual(
      notes.map(({ code, path }) => [code, path.join(".")]),
      [["target_may_change", "calls.1.target"]],
    );
    assert.deepEqual((await checkAt(await to(await odd("NoZeroApproveToken")))).notes, []);
  });

  test("finds an amount that was scaled for 18 decimals instead of 6", async () => {
    const findings = await check(await record({ amount: "25000000000000000000" }));
    const found = findings.find(({ code }) => code === "amount_decimals");
    assert.equal(found?.cure, "for 25 DMO, write 25000000");
  });

  test("needs `eth_simulateV1` only for three kinds of findings", async () => {
    const old: Manner = async (method, params, ask) => {
      if (method === "eth_simulateV1") throw new NodeError(-32601, "the method does not exist");
      return ask(method, params);
    };
    await world.through(old, async (url) => {
      for (const { code, trap, twin } of pairs) {
        if (["token_takes_fee", "allowance_left", "work_depends_on_gas"].includes(code)) continue;
        const findings = await check(await trap(), url);
        assert.ok(codesOf(findings).includes(code), `${code}: ${JSON.stringify(findings)}`);
        assert.deepEqual(await check(await twin(), url), []);
      }
    });
  });
});
