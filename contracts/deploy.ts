// Contracts brought to a chain by the deterministic deployer: their addresses follow from their
// creation codes and salts alone. Apart from index.ts, whose importers need no viem.

import {
  type Account,
  type Address,
  type Client,
  concat,
  getContractAddress,
  type Hex,
  type Transport,
  type Chain as ViemChain,
  zeroHash,
} from "viem";
import {
  getBalance,
  getCode,
  sendRawTransaction,
  sendTransaction,
  waitForTransactionReceipt,
} from "viem/actions";
import { deterministicDeployer, factoryCreationCode, factorySalt } from "./index.ts";

/** A client that sends as an account of its own. */
export type Sender = Client<Transport, ViemChain, Account>;

/** {@link deployOnce} puts there what `creationCode` creates. EIP-55. */
export const create2Address = (creationCode: Hex, salt: Hex = zeroHash): Address =>
  getContractAddress({
    opcode: "CREATE2",
    from: deterministicDeployer.address,
    salt,
    bytecode: creationCode,
  });

/** Brings the factory to a chain that has the deployer. Repeating it changes nothing. */
export const deployFactory = (sender: Sender): Promise<Address> =>
  deployOnce(sender, factoryCreationCode, factorySalt);

/** Deploys by the deployer, which has to be there. Repeating it changes nothing. */
export async function deployOnce(
  sender: Sender,
  creationCode: Hex,
  salt: Hex = zeroHash,
): Promise<Address> {
  const address = create2Address(creationCode, salt);
  if (await getCode(sender, { address })) return address;
  const data = concat([salt, creationCode]);
  const hash = await sendTransaction(sender, { to: deterministicDeployer.address, data });
  const { status } = await waitForTransactionReceipt(sender, { hash });
  if (status !== "success") throw new Error(`${address} was not created: ${hash} failed`);
  return address;
}

/** Brings the deployer to a chain that lacks it. Repeating it changes nothing. */
export async function bringDeployer(sender: Sender): Promise<void> {
  const { address, sender: nobody, fundingWei, transaction } = deterministicDeployer;
  if (await getCode(sender, { address })) return;
  const missing = fundingWei - (await getBalance(sender, { address: nobody }));
  if (missing > 0n) {
    const funding = await sendTransaction(sender, { to: nobody, value: missing });
    await waitForTransactionReceipt(sender, { hash: funding });
  }
  const hash = await sendRawTransaction(sender, { serializedTransaction: transaction });
  await waitForTransactionReceipt(sender, { hash });
}
