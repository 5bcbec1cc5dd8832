// Puts Circle's USDC contracts on a local chain: FiatTokenProxy, FiatTokenV2_2, and the library
// SignatureChecker. `npm run fiat-token` compiles their code, which is only for tests and
// under the licenses in LICENSE.

import {
  type Address,
  encodeFunctionData,
  keccak256,
  maxUint256,
  pad,
  parseAbi,
  stringToHex,
  type TestActions,
} from "viem";
import { sendTransaction, waitForTransactionReceipt } from "viem/actions";
import type { Sender } from "../../deploy.ts";
import code from "./code.json" with { type: "json" };

export const fiatTokenAbi = parseAbi([
  "function initialize(string, string, string, uint8, address, address, address, address)",
  "function initializeV2(string name)",
  "function initializeV2_1(address lostAndFound)",
  "function initializeV2_2(address[] accountsToBlacklist, string symbol)",
  "function configureMinter(address minter, uint256 allowance) returns (bool)",
  "function mint(address to, uint256 amount) returns (bool)",
  "function transfer(address to, uint256 amount) returns (bool)",
  "function balanceOf(address account) view returns (uint256)",
  "function pause()",
  "function unpause()",
  "function blacklist(address account)",
  "function unBlacklist(address account)",
]);

/** Calldata of the token's owner, who can pause the token and block accounts. */
export const fiatTokenData = {
  pause: encodeFunctionData({ abi: fiatTokenAbi, functionName: "pause" }),
  unpause: encodeFunctionData({ abi: fiatTokenAbi, functionName: "unpause" }),
  block: (account: Address) =>
    encodeFunctionData({ abi: fiatTokenAbi, functionName: "blacklist", args: [account] }),
  unblock: (account: Address) =>
    encodeFunctionData({ abi: fiatTokenAbi, functionName: "unBlacklist", args: [account] }),
};

const library = "0x00000000000000000000000000000000f1a70001";
const implementation = "0x00000000000000000000000000000000f1a70002";
/**
 * The admin of the proxy. The proxy does not forward calls from its admin, so the admin cannot use
 * the token.
 */
const admin = "0x00000000000000000000000000000000f1a70003";

/**
 * Puts the proxy at `token`, and the implementation and the library at fixed addresses. The proxy
 * refers to the implementation, which refers to the library. If several nodes execute the same
 * blocks, call this function for each node before the first block. The changes are not part of a
 * block.
 */
export async function placeFiatToken(
  { setCode, setStorageAt }: Pick<TestActions, "setCode" | "setStorageAt">,
  token: Address,
): Promise<void> {
  const { SignatureChecker, FiatTokenV2_2, FiatTokenProxy } = code.runtimes;
  // A deployed library contains its own address, for which the compiler leaves zeros.
  const ownAddress = SignatureChecker.replace(/^0x73(00){20}/, `0x73${library.slice(2)}`);
  const linked = FiatTokenV2_2.replaceAll(/__\$[0-9a-f]{34}\$__/g, library.slice(2));
  for (const [address, runtime] of [
    [library, ownAddress],
    [implementation, linked],
    [token, FiatTokenProxy],
  ] as const) {
    await setCode({ address, bytecode: runtime as `0x${string}` });
  }
  for (const [slot, value] of [
    ["org.zeppelinos.proxy.implementation", implementation],
    ["org.zeppelinos.proxy.admin", admin],
  ] as const) {
    await setStorageAt({ address: token, index: keccak256(stringToHex(slot)), value: pad(value) });
  }
}

/**
 * Calls the initialization functions of all versions of the token. The sender gets every role and
 * can mint any amount.
 */
export async function initializeFiatToken(sender: Sender, token: Address): Promise<void> {
  const { address: own } = sender.account;
  const abi = fiatTokenAbi;
  for (const data of [
    // The arguments are the token's name, symbol, currency, and decimals, and then four accounts.
    // The accounts are the master minter, the pauser, the blacklister, and the owner.
    encodeFunctionData({
      ...{ abi, functionName: "initialize" },
      args: ["USDC", "USDC", "USD", 6, own, own, own, own],
    }),
    encodeFunctionData({ abi, functionName: "initializeV2", args: ["USDC"] }),
    encodeFunctionData({ abi, functionName: "initializeV2_1", args: [own] }),
    encodeFunctionData({ abi, functionName: "initializeV2_2", args: [[], "USDC"] }),
    encodeFunctionData({ abi, functionName: "configureMinter", args: [own, maxUint256] }),
  ]) {
    const hash = await sendTransaction(sender, { to: token, data });
    const { status } = await waitForTransactionReceipt(sender, { hash });
    if (status !== "success") throw new Error(`the initialization of ${token} reverted: ${hash}`);
  }
}
