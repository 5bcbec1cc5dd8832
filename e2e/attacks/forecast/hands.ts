// The calls, contracts, and tokens from which classes.ts makes intents.

import type { AddressRecord, Call, Hex, Intent } from "executable-address";
import { concat, encodeFunctionData, pad, parseAbi, toHex } from "viem";
import type { SimulatedWorld } from "../../../service/testing/chain/simulated.ts";

export const owner: Hex = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
export const friend: Hex = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";
const customer: Hex = "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc";

/** Returns calldata with which a contract sends `amount` of the token to the contract's owner. */
type Mover = (token: Hex, amount: bigint) => Hex;

export type Case = {
  readonly record: AddressRecord;
  /** True if the intent executes without an error, but not as its author meant. */
  readonly isMistake?: boolean;
};

export type Kit = {
  readonly world: SimulatedWorld;
  readonly tokens: Readonly<Record<string, Hex>>;
  /** Contracts that can send tokens, by address. */
  readonly movers: Map<Hex, Mover>;
  /** Returns a different amount each time. */
  amount(): bigint;
  send(to: Hex, data: Hex): Promise<void>;
  /** A token whose issuer can pause it and block accounts. */
  newFiat(): Promise<Hex>;
};

const abi = parseAbi([
  "function setBlocked(address account, bool blocked)",
  "function pause(bool paused)",
  "function transfer(address to, uint256 amount)",
]);
const transferText = "transfer(address to, uint256 amount)";
const approveText = "approve(address spender, uint256 amount)";

export type Hands = ReturnType<typeof openHands>;

export function openHands(kit: Kit) {
  const { world } = kit;
  const usual = kit.tokens.plain!;
  const shopPay = (token: Hex, amount: bigint): Call =>
    world.onShop("pay(address token, uint256 amount)", token, String(amount));

  async function make(
    calls: (amount: bigint) => Call[] | Promise<Call[]>,
    change: Partial<Intent> = {},
  ): Promise<Case> {
    const amount = BigInt(change.amount ?? kit.amount());
    const record = await world.newRecord({
      ...{ token: usual, recovery: customer, ...change },
      ...{ amount: String(amount), calls: await calls(amount) },
    });
    return { record };
  }
  const plainTo =
    (to: Hex | (() => Promise<Hex>), token = usual) =>
    async () => {
      const receiver = typeof to === "string" ? to : await to();
      return make((amount) => [pay(token, receiver, amount)], { token });
    };
  const visiting = (code: () => Hex | Promise<Hex>) => async () => {
    const target = await world.withCode(await code());
    return make((amount) => [pay(usual, owner, amount), visit(target)]);
  };
  const returning = (recovery: () => Promise<Hex>) => async () => {
    const to = await recovery();
    return make((amount) => [pay(usual, owner, amount)], { recovery: to });
  };

  return {
    ...{ world, tokens: kit.tokens, usual },
    ...{ shopPay, make, plainTo, visiting, returning },
    ...contractsOf(kit),
    async fiatWith(functionName: "pause" | "setBlocked", args: readonly unknown[]) {
      const token = await kit.newFiat();
      await kit.send(token, encodeFunctionData({ abi, functionName, args } as never));
      return token;
    },
  };
}

export const pay = (token: Hex, to: Hex, amount: bigint): Call => ({
  ...{ target: token, function: transferText },
  args: [to, String(amount)],
});

export const approve = (token: Hex, spender: Hex, amount: bigint): Call => ({
  ...{ target: token, function: approveText },
  args: [spender, String(amount)],
});

export const visit = (target: Hex): Call => ({ target, function: "visit()", args: [] });

/**
 * Returns functions that deploy contracts whose owner can withdraw money. `before` returns code
 * that accepts calls only at certain times.
 */
function contractsOf({ world, movers }: Kit) {
  const { withCode } = world;

  /**
   * Deploys a contract that acts as a wallet. The first word of its calldata is an address. The
   * wallet calls this address with the rest of the calldata.
   */
  async function wallet(): Promise<Hex> {
    const address = await withCode("0x6020360360205f375f5f602036035f5f5f355af15000");
    movers.set(address, (token, amount) =>
      concat([
        pad(token),
        encodeFunctionData({ abi, functionName: "transfer", args: [owner, amount] }),
      ]),
    );
    return address;
  }

  /** Deploys a clone (EIP-1167) of a wallet. */
  async function clone(): Promise<Hex> {
    const of = await wallet();
    const code = concat(["0x363d3d373d3d3d363d73", of, "0x5af43d82803e903d91602b57fd5bf3"]);
    const address = await withCode(code);
    movers.set(address, movers.get(of)!);
    return address;
  }

  /**
   * Deploys a contract that calls a token's `transfer`. The contract's calldata is the token, the
   * receiver, and the amount.
   */
  async function till(): Promise<Hex> {
    const code = "0x63a9059cbb60e01b5f526020356004526040356024525f5f60445f5f5f355af15000";
    const address = await withCode(code);
    movers.set(address, (token, amount) =>
      concat([pad(token), pad(owner), toHex(amount, { size: 32 })]),
    );
    return address;
  }

  /**
   * Returns code that accepts calls only during the next `seconds` seconds. If `opens` is true, the
   * code accepts calls only after that time.
   */
  async function before(seconds: number, opens = false): Promise<Hex> {
    const { timestamp } = await world.client.getBlock();
    const end = toHex(timestamp + BigInt(seconds), { size: 8 });
    return concat(["0x4267", end, opens ? "0x11" : "0x10", "0x600f57005b5f5ffd"]);
  }

  return { wallet, clone, till, before };
}
