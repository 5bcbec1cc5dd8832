// The addresses of the contracts and the code of vaults. The values are copied from the contracts'
// snapshots, so the library does not build the contracts. The test deployment.test.ts compares the
// copies with the snapshots.

import type { Hex } from "./abi/hex.ts";

/** The address of PaymentFactory on every chain. EIP-55. */
export const factoryAddress: Hex = "0x00000000b4Ae95D828D2274DCe26cfa9199810De";

/** The address of the Tip contract, on every chain on which it is deployed. EIP-55. */
export const tipAddress: Hex = "0x8F39B94137D82F99C7DeA843f75a520C46FcAb5c";

/**
 * The addresses of the Conditions and Guards contracts, on every chain on which they are deployed.
 */
export const conditionsAddress: Hex = "0x80CcDFCe270C41de2b42647392F75352803f741A";
export const guardsAddress: Hex = "0xAf1A55A18f41d798DC8C9965469901948F492C95";

/** The address of the Collector contract, on every chain on which it is deployed. */
export const collectorAddress: Hex = "0x3B013CA3158c6Bb23fB7e8B5c332561ec9410B21";

/**
 * A vault's init code consists of these bytes and the terms. These bytes delegate the construction
 * of the vault to the factory.
 */
export const initCodePrefix: Hex =
  "0x5f5f601c380380601c5f395f335af43d5f5f3e5f3d91601a57fd5bf302d616e0";

/**
 * The length of a vault's code in bytes. `executed`: the calls were executed. `closed`: a recovery
 * closed the vault without an execution.
 */
export const vaultCodeBytes = { executed: 41, closed: 42 } as const;

/**
 * The two parts of the vault's code. Between them are the last 16 bytes of the factory's address.
 */
export const stubHead: Hex = "0x336f";
export const stubTail: Hex = "0x18602857365f5f375f5f365f335af43d5f5f3e3d5ff35b";
