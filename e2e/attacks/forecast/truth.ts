// Tests an intent on the chain: pays the address and executes it immediately. Then restores the
// paid state twice to test two more cases. In the first case, another account executes the address
// one second before the expiry, with less gas. In the second case, the money is returned after the
// expiry.

import { type AddressRecord, encodeExecution, factoryAddress, type Hex } from "executable-address";
import { demoToken } from "executable-address-contracts";
import { encodeFunctionData, getAddress, parseEventLogs, toHex, zeroAddress } from "viem";
import { executionGasMax } from "../../../service/chain/gas-limits.ts";
import { payer, recoverData } from "../../../service/testing/chain/world.ts";
import type { Case, Kit } from "./hands.ts";

const { abi } = demoToken;
const gasMax = BigInt(executionGasMax);
const others: Hex = "0xa0Ee7A142d267C1f36714E4a8F75612F20a79720";
const nobodys: ReadonlySet<Hex> = new Set<Hex>([
  zeroAddress,
  "0x000000000000000000000000000000000000dEaD",
  factoryAddress,
]);

/** @returns the problem, or undefined if there is none */
export async function wrongOf({ record, isMistake }: Case, kit: Kit): Promise<string | undefined> {
  const { client } = kit.world;
  const { address, intent } = record;
  const start = await client.snapshot();
  try {
    const pay = encodeFunctionData({
      ...{ abi, functionName: "transfer", args: [address, BigInt(intent.amount)] },
    });
    if (!(await tryTo(kit, { from: payer, to: intent.token, data: pay }))) return "cannot be paid";
    const paid = await client.snapshot();
    const first = await execute(kit, record, payer, gasMax);
    if (!first) return "does not execute";
    const left = await wrongAfter(kit, record, first);
    if (left) return left;
    await client.revert({ id: paid });
    const again = await client.snapshot();
    await client.setNextBlockTimestamp({ timestamp: BigInt(intent.expirationTimestamp) });
    const tight = 2n * first.gasUsed + 100_000n;
    if (!(await execute(kit, record, others, tight))) return "does not execute at its expiry";
    await client.revert({ id: again });
    await client.setNextBlockTimestamp({ timestamp: BigInt(intent.expirationTimestamp) + 1n });
    const back = await wrongReturn(kit, record);
    return back ?? (isMistake ? "not what was meant" : undefined);
  } finally {
    await client.revert({ id: start });
  }
}

type Sent = { from: Hex; to: Hex; data?: Hex; value?: bigint; gas?: bigint };

async function tryTo(
  { world: { client } }: Kit,
  { from, to, data = "0x", value = 0n, gas = 3_000_000n }: Sent,
) {
  await client.impersonateAccount({ address: from });
  await client.setBalance({ address: from, value: 10n ** 20n });
  try {
    const hash = await client.sendTransaction({ account: from, to, data, value, gas });
    const receipt = await client.waitForTransactionReceipt({ hash });
    return receipt.status === "success" ? receipt : undefined;
  } catch {
    return undefined;
  }
}

const execute = (kit: Kit, record: AddressRecord, from: Hex, gas: bigint) =>
  tryTo(kit, { from, to: factoryAddress, data: toHex(encodeExecution(record.intent)), gas });

type Receipt = NonNullable<Awaited<ReturnType<typeof tryTo>>>;

const read = (kit: Kit, token: Hex, functionName: "balanceOf" | "allowance", args: Hex[]) =>
  kit.world.client.readContract({
    address: token,
    abi,
    functionName,
    args,
  } as never) as Promise<bigint>;

async function wrongAfter(kit: Kit, { address, intent }: AddressRecord, { logs }: Receipt) {
  const { client } = kit.world;
  if ((await read(kit, intent.token, "balanceOf", [address])) > 0n) return "money is left";
  if ((await client.getBalance({ address })) > 0n) return "coin is left";
  for (const { target, function: text, args } of intent.calls) {
    if (!text.startsWith("approve")) continue;
    if ((await read(kit, target, "allowance", [address, args[0] as Hex])) > 0n) return "allowance";
  }
  const called = intent.calls.filter((call) => !call.function.startsWith("transfer"));
  const moved = parseEventLogs({ abi, eventName: "Transfer", logs: logs as never, strict: true });
  const receivers = (moved as unknown as { args: { to: Hex } }[]).map(({ args }) => args.to);
  const named = intent.calls.flatMap((call) =>
    call.function.startsWith("transfer") ? [call.args[0] as Hex] : [],
  );
  for (const receiver of new Set([...receivers, ...named].map((each) => getAddress(each)))) {
    if (receiver === address || called.some(({ target }) => target === receiver)) continue;
    if (!(await canSendOn(kit, receiver, intent.token))) return `${receiver} cannot send it on`;
  }
  return undefined;
}

async function wrongReturn(kit: Kit, record: AddressRecord): Promise<string | undefined> {
  const { address, intent } = record;
  const { token, recovery } = intent;
  await tryTo(kit, { from: payer, to: address, value: 1n });
  const data = recoverData(record, [token, zeroAddress]);
  if (!(await tryTo(kit, { from: payer, to: factoryAddress, data }))) return "is not returned";
  if ((await read(kit, token, "balanceOf", [address])) > 0n) return "the token is not returned";
  if ((await kit.world.client.getBalance({ address })) > 0n) return "coin is not returned";
  return (await canSendOn(kit, recovery, token)) ? undefined : "recovery cannot send it on";
}

/**
 * Returns whether an account can move its tokens. An account without code can move its tokens if
 * somebody has its key. A contract can move its tokens if its owner can trigger a transfer.
 */
async function canSendOn(kit: Kit, account: Hex, token: Hex): Promise<boolean> {
  if (nobodys.has(account) || BigInt(account) < 65_536n) return false;
  const code = await kit.world.client.getCode({ address: account });
  if (code === undefined || code === "0x") return true;
  const mover = kit.movers.get(account);
  if (!mover) return false;
  const held = await read(kit, token, "balanceOf", [account]);
  if (held === 0n) return true;
  await tryTo(kit, { from: payer, to: account, data: mover(token, held) });
  return (await read(kit, token, "balanceOf", [account])) === 0n;
}
