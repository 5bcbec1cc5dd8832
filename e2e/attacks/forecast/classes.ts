// Classes of intents for forecast.long.test.ts. Either all intents of a class succeed, or none
// does.

import { factoryAddress, type Hex } from "executable-address";
import { concat, getAddress, toHex, zeroAddress } from "viem";
import {
  approve,
  type Case,
  friend,
  type Hands,
  type Kit,
  openHands,
  owner,
  pay,
  visit,
} from "./hands.ts";

const dead: Hex = "0x000000000000000000000000000000000000dEaD";

type Classes = Record<string, () => Promise<Case>>;

export function openClasses(kit: Kit): Classes {
  const hands = openHands(kit);
  return {
    ...rightOnes(hands),
    ...wrongReceivers(hands),
    ...wrongSums(hands),
    ...wrongTokens(hands),
    ...wrongRecoveries(hands),
    ...wrongMoments(hands),
    ...mistakes(hands),
  };
}

/** The money reaches its intended recipient. */
const rightOnes = ({
  world,
  tokens,
  usual,
  shopPay,
  make,
  plainTo,
  visiting,
  returning,
  wallet,
  clone,
  till,
  before,
}: Hands): Classes => ({
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
    const giver = await world.withCode(concat(["0x5f5f5f5f4773", owner, "0x5af100"]));
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
});

/** The money goes to a receiver that cannot use it, or a call fails. */
const wrongReceivers = ({ world, tokens, usual, make, plainTo }: Hands): Classes => ({
  "to the token": plainTo(usual),
  "to another token": plainTo(tokens.silent!),
  "to zero": plainTo(zeroAddress),
  "to the dead address": plainTo(dead),
  "to the factory": plainTo(factoryAddress),
  "to a precompile": plainTo(() => Promise.resolve(getAddress(toHex(4n, { size: 20 })))),
  "to the shop, without its function": plainTo(world.target),
  "to a contract that only stands there": plainTo(() => world.withCode("0x00")),
  "to a contract that only counts": plainTo(() => world.withCode("0x5f546001015f5500")),
  "a part to the token": () => make((all) => [pay(usual, owner, all - 5n), pay(usual, usual, 5n)]),
  "a call of nobody": () => make((all) => [pay(usual, owner, all), visit(friend)]),
  "a call that fails": () => make((all) => [pay(usual, owner, all), world.onShop("fail()")]),
  "a call that burns its gas": () =>
    make((all) => [pay(usual, owner, all), world.onShop("burnGas()")]),
});

/** The calls use more or less than the intent's amount, or leave an allowance for later use. */
const wrongSums = ({ world, usual, shopPay, make }: Hands): Classes => ({
  "more than there is": () => make((all) => [pay(usual, owner, all + 1n)]),
  "less than there is": () => make((all) => [pay(usual, owner, all - all / 3n)]),
  "nothing of it": () => make(() => [world.onShop("visit()")]),
  "an allowance of more": () =>
    make((all) => [approve(usual, world.target, all + 7n), shopPay(usual, all)]),
  "an allowance without end": () =>
    make((all) => [approve(usual, world.target, 2n ** 256n - 1n), shopPay(usual, all)]),
  "an allowance of too little": () =>
    make((all) => [approve(usual, world.target, all - 1n), shopPay(usual, all)]),
});

/** The token takes a fee, or rejects transfers. */
const wrongTokens = ({ tokens, make, plainTo, fiatWith }: Hands): Classes => ({
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
});

/** Excess or late money goes to an account that cannot receive it or cannot use it. */
const wrongRecoveries = ({ world, tokens, make, returning, fiatWith }: Hands): Classes => ({
  "back to one who is blocked": async () => {
    const token = await fiatWith("setBlocked", [friend, true]);
    return make((all) => [pay(token, owner, all)], { token, recovery: friend });
  },
  "back to the shop": returning(async () => world.target),
  "back to a token": returning(async () => tokens.noZero!),
  "back to the dead address": returning(async () => dead),
  "back to a contract that only stands there": returning(() => world.withCode("0x00")),
});

/**
 * Intents whose outcome depends on the time, the sender, or the gas. One intent leaves native coin
 * at its address.
 */
const wrongMoments = ({ world, usual, make, visiting, before }: Hands): Classes => ({
  "too many items in store": () =>
    make((all) => [pay(usual, owner, all), world.onShop("stock(uint256 items)", "240")]),
  "a sale that ends before the intent": visiting(() => before(2400)),
  "a sale that has not begun": visiting(() => before(1800, true)),
  "a target that asks who executes": visiting(() => "0x32600557005b5f5ffd"),
  "a target that asks for much gas": visiting(() => "0x5a620aae6010600c575f5ffd5b00"),
  "coin that stays at the address": async () => {
    const giver = await world.withCode("0x5f5f5f5f47335af100");
    await world.client.setBalance({ address: giver, value: 7n });
    return make((all) => [pay(usual, owner, all), visit(giver)]);
  },
});

/** The author entered a wrong amount. */
const mistakes = ({ usual, make }: Hands): Classes => ({
  "25 base units for 25 tokens": () =>
    mistaken(make((all) => [pay(usual, owner, all)], { amount: "25" })),
  "18 decimals for 6": () =>
    mistaken(make((all) => [pay(usual, owner, all)], { amount: `25${"0".repeat(18)}` })),
});

const mistaken = async (made: Promise<Case>): Promise<Case> => ({
  ...(await made),
  isMistake: true,
});
