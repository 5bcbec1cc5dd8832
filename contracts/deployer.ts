// The keyless deterministic deployer (EIP-7997). Its calldata is a 32-byte salt and creation code,
// which it deploys with CREATE2. The deployer has the same address on nearly every chain, because
// the same signed transaction created it. The v, r, and s below are chosen values. The sender is
// recovered from them, so nobody has the sender's key.

const mask = `7f${"ff".repeat(31)}e0`;
const body = "3601600081602082378035828234f58015156039578182fd5b8082525050506014600cf3";
const runtimeCode = `${mask}${body}`;
const creationCode = `604580600e600039806000f350fe${runtimeCode}`;
const twos = "22".repeat(32);

export const deterministicDeployer = {
  address: "0x4e59b44847b379578588920cA78FbF26c0B4956C",
  code: `0x${runtimeCode}`,
  creationCode: `0x${creationCode}`,
  /**
   * The sender of the deployment transaction. Its balance must cover the transaction's cost before
   * the transaction is sent.
   */
  sender: "0x3fAB184622Dc19b6109349B94811493BF2a45362",
  fundingWei: 10_000_000_000_000_000n,
  /** The gas limit and the price in wei for which the transaction is signed. */
  gasMax: 100_000n,
  gasPrice: 100_000_000_000n,
  /**
   * The signed deployment transaction (v is 27), which is sent unchanged if the deployer is
   * missing.
   */
  transaction: `0xf8a58085174876e800830186a08080b853${creationCode}1ba0${twos}a0${twos}`,
} as const;

/**
 * The salt that gives the factory its address. It is the lowest salt for which the address starts
 * with four zero bytes (mine.ts). A different creation code needs a different salt.
 */
export const factorySalt = "0x0000000000000000000000000000000000000000000000000000000255f8edd8";
