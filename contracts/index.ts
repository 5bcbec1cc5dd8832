// The contracts' data that other folders need. snapshot.ts compiles the contracts and writes this
// data. Other programs need no compiler, because the data is committed.

import deployment from "./snapshots/deployment.json" with { type: "json" };

type Hex = `0x${string}`;

export { deterministicDeployer, factorySalt } from "./deployer.ts";
export { demoShop } from "./snapshots/demo-shop.ts";
export { demoToken } from "./snapshots/demo-token.ts";
export { paymentFactoryAbi } from "./snapshots/payment-factory.ts";
export * as periphery from "./snapshots/periphery.ts";
export { meter, probe } from "./snapshots/reading.ts";

/** The chain ID of anvil and Hardhat; no chain with real money has it. */
export const localChainId = 31_337;
/** The address of PaymentFactory on every chain. EIP-55. */
export const factoryAddress = deployment.factory as Hex;
/**
 * The factory's creation code. To deploy the factory, call the deterministic deployer. The call's
 * data is {@link factorySalt} followed by this code.
 */
export const factoryCreationCode = deployment.creationCode as Hex;
/** keccak256 of the code at {@link factoryAddress}. */
export const factoryCodeHash = deployment.runtimeCodeHash as Hex;
/** The bytes of a vault's init code before the intent's terms. */
export const initCodePrefix = deployment.prefix as Hex;
/**
 * keccak256 of the code at a vault whose calls ran. The hash is the same on every chain. The calls
 * of a closed vault can never run. The hash of its code is {@link closedCodeHash}. So the hash of a
 * vault's code shows without any log whether the calls ran.
 */
export const executedCodeHash = deployment.executedCodeHash as Hex;
export const closedCodeHash = deployment.closedCodeHash as Hex;
/**
 * The length in bytes of a vault's code. `executed`: the calls ran. `closed`: a recovery closed the
 * vault before the calls ran.
 */
export const vaultCodeBytes = { executed: 41, closed: 42 } as const;
