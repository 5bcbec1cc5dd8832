// Estimates what it costs to make a chain ready, before anything is sent.

import {
  deterministicDeployer,
  factoryAddress,
  factoryCodeHash,
  factoryCreationCode,
  factorySalt,
  periphery,
} from "executable-address-contracts";
import { assertDeployerDeployable } from "executable-address-contracts/deploy";
import type { BaseError, Client, Hex } from "viem";
import { estimateGas, getBalance, getCode } from "viem/actions";
import { concat, keccak256 } from "viem/utils";
import { forkFault, missingPeriphery } from "./check.ts";
import type { ChainRpc } from "./rpc/chain-rpc.ts";

/** A transaction that will be sent: `gas` it uses, `wei` it passes on, and its calldata. */
export type EstimatedStep = { name: string; gas: bigint; wei: bigint; data: Hex };

const noSalt: Hex = `0x${"00".repeat(32)}`;
/** Gas of a plain transfer, which every transaction costs at least. */
const transferGas = 21_000n;

/**
 * Estimates each transaction that `bring` would send now from the address `from`; none if all is
 * there.
 *
 * @throws a sentence that says why the chain cannot be made ready
 */
export async function estimateBring(
  reader: Client,
  rpc: ChainRpc,
  from: Hex,
): Promise<EstimatedStep[]> {
  const fault = await forkFault(rpc);
  if (fault) throw new Error(fault);
  const steps: EstimatedStep[] = [];
  const { address, code, sender, fundingWei } = deterministicDeployer;
  const deployerCode = await getCode(reader, { address });
  if (deployerCode && deployerCode !== code) {
    throw new Error(`${address} has other code than the deployer's: this chain is unsuited`);
  }
  if (!deployerCode) {
    await assertDeployerDeployable(reader);
    const missing = fundingWei - (await getBalance(reader, { address: sender }));
    if (missing > 0n) {
      steps.push({ name: "deployer", gas: transferGas, wei: missing, data: "0x" });
    }
  }
  const deploy = async (name: string, creationCode: Hex, salt: Hex = noSalt) => {
    const data = concat([salt, creationCode]);
    const gas = await estimateGas(reader, {
      ...{ account: from, to: address, data, prepare: false },
      // Simulated with the deployer where it is missing: the factory refuses any other address.
      ...(deployerCode ? {} : { stateOverride: [{ address, code }] }),
    }).catch((error: BaseError) => {
      const reason = error.details || error.shortMessage;
      throw new Error(`the deployment of ${name} cannot be estimated: ${reason}`);
    });
    steps.push({ name, gas, wei: 0n, data });
  };
  const factoryCode = await getCode(reader, { address: factoryAddress });
  if (!factoryCode) await deploy("factory", factoryCreationCode, factorySalt);
  else if (keccak256(factoryCode) !== factoryCodeHash) {
    throw new Error(`the code at ${factoryAddress} is not the factory's: this chain is unsuited`);
  }
  for (const name of await missingPeriphery(rpc)) await deploy(name, periphery[name].bytecode);
  return steps;
}
