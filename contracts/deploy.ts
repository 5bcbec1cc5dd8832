// Deploys contracts with the deterministic deployer. Their addresses depend only on their creation
// codes and salts. This module imports viem. It is separate from index.ts, because the files that
// import index.ts do not need viem.

import {
  type Account,
  type Address,
  type BaseError,
  type Client,
  concat,
  getContractAddress,
  type Hex,
  keccak256,
  type Transport,
  type Chain as ViemChain,
  zeroHash,
} from "viem";
import {
  estimateGas,
  getBalance,
  getBlock,
  getCode,
  getTransactionCount,
  sendRawTransaction,
  sendTransaction,
  waitForTransactionReceipt,
} from "viem/actions";
import { deterministicDeployer, factoryCreationCode, factorySalt } from "./index.ts";

/** A client that sends from its own account. */
export type Sender = Client<Transport, ViemChain, Account>;

/** Returns the address at which {@link deployOnce} deploys `creationCode`, in EIP-55 case. */
export const create2Address = (creationCode: Hex, salt: Hex = zeroHash): Address =>
  getContractAddress({
    opcode: "CREATE2",
    from: deterministicDeployer.address,
    salt,
    bytecode: creationCode,
  });

/** Deploys the factory to a chain that has the deployer. The call is idempotent. */
export const deployFactory = (sender: Sender): Promise<Address> =>
  deployOnce(sender, factoryCreationCode, factorySalt);

/**
 * Deploys with the deterministic deployer. The call is idempotent.
 *
 * @throws if the deployer is missing, or if the address has no code afterwards
 */
export async function deployOnce(
  sender: Sender,
  creationCode: Hex,
  salt: Hex = zeroHash,
): Promise<Address> {
  const address = create2Address(creationCode, salt);
  if (await getCode(sender, { address })) return address;
  const deployer = deterministicDeployer.address;
  // Without this check, the transaction would succeed and deploy nothing.
  if (!(await getCode(sender, { address: deployer }))) {
    throw new Error(`${deployer} has no code: deploy the deterministic deployer first`);
  }
  const hash = await sendTransaction(sender, { to: deployer, data: concat([salt, creationCode]) });
  const { status } = await waitForTransactionReceipt(sender, { hash });
  if (status !== "success") throw new Error(`${address} was not created: ${hash} failed`);
  if (!(await getCode(sender, { address }))) {
    throw new Error(`${address} has no code, although ${hash} succeeded`);
  }
  return address;
}

/**
 * Returns whether the chain has the deterministic deployer.
 *
 * @throws {Error} if the deployer's address has different code
 */
export async function hasDeployer(reader: Client): Promise<boolean> {
  const { address, code: wanted } = deterministicDeployer;
  const code = await getCode(reader, { address });
  if (!code || code === wanted) return code === wanted;
  throw new Error(
    `${address}: expected the deterministic deployer's code with the hash ${keccak256(wanted)}, ` +
      `found ${keccak256(code)}: this chain is not supported`,
  );
}

/**
 * Deploys the deterministic deployer if the chain lacks the deployer. The call is idempotent.
 *
 * Each chain allows only one attempt, because a failed transaction uses up the deployer's nonce.
 * The nonce, gas limit, and gas price of the transaction are fixed. So the function first estimates
 * the transaction. If the transaction would fail, the function neither funds the sender nor sends
 * the transaction.
 *
 * @throws an error whose message states the reason and, in most cases, suggests what to do
 */
export async function bringDeployer(sender: Sender): Promise<void> {
  const { address, fundingWei, sender: keylessSender, transaction } = deterministicDeployer;
  if (await hasDeployer(sender)) return;
  await assertDeployerDeployable(sender);
  const missing = fundingWei - (await getBalance(sender, { address: keylessSender }));
  if (missing > 0n) {
    const hash = await sendTransaction(sender, { to: keylessSender, value: missing });
    const { status } = await waitForTransactionReceipt(sender, { hash });
    if (status !== "success") throw new Error(`${keylessSender} was not funded: ${hash} failed`);
  }
  const hash = await sendRawTransaction(sender, { serializedTransaction: transaction }).catch(
    (error: BaseError) => {
      // Some nodes reject transactions without a chain ID (before EIP-155).
      throw new Error(`the deployer's transaction was rejected: ${error.details}. ${alternatives}`);
    },
  );
  const { status } = await waitForTransactionReceipt(sender, { hash });
  if (status !== "success" || !(await getCode(sender, { address }))) {
    throw new Error(
      `the deployer was not created: ${hash} failed and cannot be repeated. ${alternatives}`,
    );
  }
}

const alternatives =
  "Ask the chain's operators to put the deployer's code at its address, by adopting EIP-7997 or " +
  "as a genesis predeploy";

/**
 * If the chain lacks the deployer, checks that the deployer's keyless transaction would succeed.
 * Sends nothing.
 *
 * @throws an error whose message says why the transaction would fail and suggests what to do
 */
export async function assertDeployerDeployable(sender: Client): Promise<void> {
  const { address, creationCode, sender: keylessSender, gasMax, gasPrice } = deterministicDeployer;
  if ((await getTransactionCount(sender, { address: keylessSender })) > 0) {
    throw new Error(
      `the deployer's transaction was already sent, but ${address} has no code. ${alternatives}`,
    );
  }
  const { baseFeePerGas } = await getBlock(sender);
  if (baseFeePerGas && baseFeePerGas > gasPrice) {
    throw new Error(
      `the base fee is ${baseFeePerGas} wei, but the deployer's transaction pays only ` +
        `${gasPrice} wei per gas: try again when the base fee is lower`,
    );
  }
  const needed = await estimateGas(sender, {
    account: keylessSender,
    data: creationCode,
    prepare: false,
  }).catch((error: BaseError) => {
    const reason = error.details || error.shortMessage;
    throw new Error(
      `the deployer's transaction would fail on this chain: ${reason}. ${alternatives}`,
    );
  });
  if (needed > gasMax) {
    throw new Error(
      `creating the deployer needs ${needed} gas, but its signed transaction allows ${gasMax}. ` +
        alternatives,
    );
  }
}
