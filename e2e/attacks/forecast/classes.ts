// Ways in which an intent is right or goes wrong, as people make them: written from what can happen
// to money, and not from what a check looks for.

import {
  type AddressRecord,
  type Call,
  factoryAddress,
  type Hex,
  type Intent,
} from "executable-address";
import { concat, encodeFunctionData, getAddress, pad, parseAbi, toHex, zeroAddress } from "viem";
import type { SimulatedWorld } from "../../../service/testing/chain/simulated.ts";

const owner: Hex = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC";
const friend: Hex = "0x90F79bf6EB2c4f870365E785982E1f101E93b906";
const customer: Hex = "0x9965507D1a55bcC2695C58ba16FB37d819B0A4dc";
const dead: Hex = "0x000000000000000000000000000000000000dEaD";

/** How a contract's owner has it send `amount` on, if there is a way. */
type Mover = (token: Hex, amount: bigint) => Hex;

export type Case = {
  readonly record: AddressRecord;
  /** Nobody can see it on the chain: what the one who wrote it meant. */
  readonly isMistake?: boolean;
};

export type Kit = {
  readonly world: SimulatedWorld;
  readonly tokens: Readonly<Record<string, Hex>>;
  /** Contracts that can send money on. */
  readonly movers: Map<Hex, Mover>;
  /** Another number each time, of some tokens of six decimals. */
  amount(): bigint;
  send(to: Hex, data: Hex): Promise<void>;
  /** A token whose issuer can pause it and block people. */
  newFiat(): Promise<Hex>;
};

const abi = parseAbi([
  "function setBlocked(address account, bool blocked)",
  "function pause(bool paused)",
  "function transfer(address to, uint256 amount)",
]);
const transferText = "transfer(address to, uint256 amount)";
const approveText = "approve(address spender, uint256 amount)";

export function openClasses(kit: Kit) {
  const { world, tokens, movers, send } = kit;
  const { withCode } = world;
  const usual = tokens.plain!;
  const pay = (token: Hex, to: Hex, amount: bigint): Call => ({
    ...{ target: token, function: transferText },
    args: [to, String(amount)],
  });
  const approve = (token: Hex, spender: Hex, amount: bigint): Call => ({
    ...{ target: token, function: approveText },
    args: [spender, String(amount)],
  });
  const shopPay = (token: Hex, amount: bigint): Call =>
    world.onShop("pay(address token, uint256 amount)", token, String(amount));
  const visit = (target: Hex): Call => ({ target, function: "visit()", args: [] });

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
    const target = await withCode(await code());
    return make((amount) => [pay(usual, owner, amount), visit(target)]);
  };
  const returning = (recovery: () => Promise<Hex>) => async () => {
    const to = await recovery();
    return make((amount) => [pay(usual, owner, amount)], { recovery: to });
  };
  const now = async () => (await world.client.getBlock()).timestamp;
  const mistaken = async (made: Promise<Case>): Promise<Case> => ({
    ...(await made),
    isMistake: true,
  });

  /** A wallet: it calls the first word of what it is sent with the rest of it. */
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
  /** A clone of a wallet, as EIP-1167 has it. */
  async function clone(): Promise<Hex> {
    const of = await wallet();
    const code = concat(["0x363d3d373d3d3d363d73", of, "0x5af43d82803e903d91602b57fd5bf3"]);
    const address = await withCode(code);
    movers.set(address, movers.get(of)!);
    return address;
  }
  /** It sends a token on by `transfer`: token, receiver, amount. */
  async function till(): Promise<Hex> {
    const code = "0x63a9059cbb60e01b5f526020356004526040356024525f5f60445f5f5f355af15000";
    const address = await withCode(code);
    movers.set(address, (token, amount) =>
      concat([pad(token), pad(owner), toHex(amount, { size: 32 })]),
    );
    return address;
  }
  const before = async (seconds: number, opens = false) => {
    const end = toHex((await now()) + BigInt(seconds), { size: 8 });
    return concat(["0x4267", end, opens ? "0x11" : "0x10", "0x600f57005b5f5ffd"]);
  };

  async function fiatWith(functionName: "pause" | "setBlocked", args: readonly unknown[]) {
    const token = await kit.newFiat();
    await send(token, encodeFunctionData({ abi, functionName, args } as never));
    return token;
  }

  const classes: Record<string, () => Promise<Case>> = {
    "to a person": plainTo(owner),
    "to two people": () =>
      make((all) => [pay(usual, owner, all / 2n), pay(usual, friend, all - all / 2n)]),
    "to many people": () =>
      make((all) => [
        ...Array.from({ length: 20 }, () => pay(usual, friend, 1n)),
        pay(usual, owner, all - 20n),
      ]),
    "to a shop, by its own function": () =>
      make((all) => [approve(usual, world.target, all), shopPay(usual, all)]),
    "to a person, and a visit": () =>
      make((all) => [pay(usual, owner, all), world.onShop("visit()")]),
    "a token that answers nothing": plainTo(owner, tokens.silent),
    "a token whose zero approvals fail": plainTo(owner, tokens.noZero),
    "a token that boasts": plainTo(owner, tokens.boasting),
    "a token that blocks others": plainTo(owner, tokens.blocking),
    "a token with an issuer": plainTo(owner, tokens.fiat),
    "to a wallet that is a contract": plainTo(wallet),
    "to a clone of a wallet": plainTo(clone),
    "to a till": plainTo(till),
    "some items in store": () =>
      make((all) => [pay(usual, owner, all), world.onShop("stock(uint256 items)", "15")]),
    "a sale that ends later than the intent": visiting(() => before(4500)),
    "coin that goes to a person": async () => {
      const giver = await withCode(concat(["0x5f5f5f5f4773", owner, "0x5af100"]));
      await world.client.setBalance({ address: giver, value: 7n });
      return make((all) => [pay(usual, owner, all), visit(giver)]);
    },
    "back to a wallet that is a contract": returning(wallet),
    "back to a clone of a wallet": returning(clone),
    "an allowance that is taken back": () =>
      make((all) => [
        approve(usual, world.target, all * 2n),
        shopPay(usual, all),
        approve(usual, world.target, 0n),
      ]),

    "to the token": plainTo(usual),
    "to another token": plainTo(tokens.silent!),
    "to zero": plainTo(zeroAddress),
    "to the dead address": plainTo(dead),
    "to the factory": plainTo(factoryAddress),
    "to a precompile": plainTo(() => Promise.resolve(getAddress(toHex(4n, { size: 20 })))),
    "to the shop, without its function": plainTo(world.target),
    "to a contract that only stands there": plainTo(() => withCode("0x00")),
    "to a contract that only counts": plainTo(() => withCode("0x5f546001015f5500")),
    "a part to the token": () =>
      make((all) => [pay(usual, owner, all - 5n), pay(usual, usual, 5n)]),
    "a call of nobody": () => make((all) => [pay(usual, owner, all), visit(friend)]),
    "a call that fails": () => make((all) => [pay(usual, owner, all), world.onShop("fail()")]),
    "a call that burns its gas": () =>
      make((all) => [pay(usual, owner, all), world.onShop("burnGas()")]),
    "more than there is": () => make((all) => [pay(usual, owner, all + 1n)]),
    "less than there is": () => make((all) => [pay(usual, owner, all - all / 3n)]),
    "nothing of it": () => make(() => [world.onShop("visit()")]),
    "an allowance of more": () =>
      make((all) => [approve(usual, world.target, all + 7n), shopPay(usual, all)]),
    "an allowance without end": () =>
      make((all) => [approve(usual, world.target, 2n ** 256n - 1n), shopPay(usual, all)]),
    "an allowance of too little": () =>
      make((all) => [approve(usual, world.target, all - 1n), shopPay(usual, all)]),
    "a token that takes a fee": plainTo(owner, tokens.fee),
    "a token that moves half": plainTo(owner, tokens.half),
    "a token that says no": plainTo(owner, tokens.false),
    "a token at rest": async () => {
      const token = await fiatWith("pause", [true]);
      return make((all) => [pay(token, owner, all)], { token });
    },
    "to one who is blocked": async () => {
      const token = await fiatWith("setBlocked", [friend, true]);
      return make((all) => [pay(token, friend, all)], { token });
    },
    "back to one who is blocked": async () => {
      const token = await fiatWith("setBlocked", [friend, true]);
      return make((all) => [pay(token, owner, all)], { token, recovery: friend });
    },
    "back to the shop": returning(async () => world.target),
    "back to a token": returning(async () => tokens.noZero!),
    "back to the dead address": returning(async () => dead),
    "back to a contract that only stands there": returning(() => withCode("0x00")),
    "too many items in store": () =>
      make((all) => [pay(usual, owner, all), world.onShop("stock(uint256 items)", "60")]),
    "a sale that ends before the intent": visiting(() => before(2400)),
    "a sale that has not begun": visiting(() => before(1800, true)),
    "a target that asks who executes": visiting(() => "0x32600557005b5f5ffd"),
    "a target that asks for much gas": visiting(() => "0x5a620aae6010600c575f5ffd5b00"),
    "coin that stays at the address": async () => {
      const giver = await withCode("0x5f5f5f5f47335af100");
      await world.client.setBalance({ address: giver, value: 7n });
      return make((all) => [pay(usual, owner, all), visit(giver)]);
    },
    "25 base units for 25 tokens": () =>
      mistaken(make((all) => [pay(usual, owner, all)], { amount: "25" })),
    "18 decimals for 6": () =>
      mistaken(make((all) => [pay(usual, owner, all)], { amount: `25${"0".repeat(18)}` })),
  };
  return classes;
}
