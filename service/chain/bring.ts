// Deploys this project's missing contracts on a chain, and estimates the cost. The contracts are:
// - the deterministic deployer, which creates the others with CREATE2
// - the factory
// - the periphery contracts, which intents can call

import { readFileSync } from "node:fs";
import {
  deterministicDeployer,
  factoryAddress,
  factoryCodeHash,
  factoryCreationCode,
  factorySalt,
  periphery,
} from "executable-address-contracts";
import {
  assertDeployerDeployable,
  bringDeployer,
  deployFactory,
  deployOnce,
  hasDeployer,
  type Sender,
} from "executable-address-contracts/deploy";
import {
  BaseError,
  type Client,
  createClient,
  custom,
  defineChain,
  type Hex,
  http,
  type Transport,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { estimateGas, getBalance, getChainId, getCode } from "viem/actions";
import { concat, isHex } from "viem/utils";
import { codeFault, forkFault, missingPeriphery, peripheryNames } from "./check.ts";
import { transactionGasMin } from "./gas-limits.ts";
import { type ChainRpc, openChainRpc } from "./rpc/chain-rpc.ts";
import { CallRefused } from "./rpc/json-rpc.ts";

const keyVariable = "BRING_KEY";

type Periphery = Record<keyof typeof periphery, Deployment>;
type Deployment = { address: string; was: "there" | "brought" };

/**
 * Deploys the contracts that are missing on the chain. The call is idempotent.
 *
 * @param readKey returns the private key that pays for the gas; called only if a contract is
 *   missing
 * @throws an error without secrets, if the chain, the key, or the RPC endpoint has a problem
 */
export async function bring(rpcUrl: string, readKey: () => Hex) {
  if (!/^https?:\/\/./.test(rpcUrl)) {
    throw new Error(
      `--rpc: expected an http or https URL, found other text (${rpcUrl.length} characters)`,
    );
  }
  const transport = http(rpcUrl);
  const open = (chainId: number) => openSender(chainId, transport, readKey());
  return bringThrough(createClient({ transport }), openChainRpc([rpcUrl]), open);
}

/**
 * Opens a client that signs transactions for the chain with `key` and sends them through
 * `transport`.
 */
export const openSender = (chainId: number, transport: Transport, key: Hex): Sender =>
  createClient({
    account: privateKeyToAccount(key),
    chain: defineChain({
      id: chainId,
      name: String(chainId),
      nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
      rpcUrls: { default: { http: [] } },
    }),
    transport,
  });

/** Returns a viem transport that sends its requests with `request`, without retries. */
export const transportOf = (request: ChainRpc["request"]): Transport =>
  custom(
    { request: ({ method, params }) => request(method, (params as unknown[]) ?? []) },
    { retryCount: 0 },
  );

export const openReader = (request: ChainRpc["request"]): Client =>
  createClient({ transport: transportOf(request) });

/**
 * Deploys the missing contracts through the client that `open` returns. Calls `open` only if a
 * contract is missing. Checks each contract's code after it is deployed.
 *
 * @throws the same errors as {@link bring}
 */
export async function bringThrough(
  reader: Client,
  rpc: ChainRpc,
  open: (chainId: number) => Sender,
): Promise<{ chainId: number; deployer: Deployment; factory: Deployment; periphery: Periphery }> {
  try {
    const chainId = await getChainId(reader);
    const hasCode = async (address: Hex) => (await getCode(reader, { address })) !== undefined;
    const before = {
      deployer: await hasCode(deterministicDeployer.address),
      factory: await hasCode(factoryAddress),
    };
    const missing = await missingPeriphery(rpc);
    const fault = await forkFault(rpc);
    if (fault) throw new Error(fault);
    if (!before.deployer || !before.factory || missing.length > 0) {
      const sender = open(chainId);
      await bringDeployer(sender);
      await deployFactory(sender);
      for (const name of missing) await deployOnce(sender, periphery[name].bytecode);
    }
    assertFactory(await getCode(reader, { address: factoryAddress }));
    return {
      chainId,
      deployer: found(deterministicDeployer.address, before.deployer),
      factory: found(factoryAddress, before.factory),
      periphery: Object.fromEntries(
        peripheryNames.map((name) => [
          name,
          found(periphery[name].address, !missing.includes(name)),
        ]),
      ) as Periphery,
    };
  } catch (error) {
    throw plainError(error);
  }
}

/**
 * A deployment transaction was not sent or not mined, or it had no effect. The message contains no
 * secret.
 */
export class StepError extends Error {
  override name = "StepError";
}

/**
 * Returns an error that is safe to print. The message of a viem error may contain a URL with an API
 * key.
 */
export function plainError(error: unknown): unknown {
  if (!(error instanceof BaseError)) return error;
  const step = error.walk((each) => each instanceof StepError);
  return step ?? new Error(error.shortMessage.split("\n")[0]);
}

/** Returns the revert data of a viem error, or undefined for other errors. */
export function revertDataOf(error: unknown): Hex | undefined {
  if (!(error instanceof BaseError)) return undefined;
  const refused = error.walk((each) => each instanceof CallRefused);
  return refused instanceof CallRefused && isHex(refused.data) ? refused.data : undefined;
}

/** @param code undefined if there is no code at the factory's address */
function assertFactory(code: Hex | undefined): void {
  const fault = codeFault({ address: factoryAddress, codeHash: factoryCodeHash }, code ?? "0x");
  if (fault) throw new Error(fault);
}

const found = (address: string, wasThere: boolean): Deployment => ({
  address,
  was: wasThere ? "there" : "brought",
});

/** @throws if the key is missing or invalid; the message contains only the key's length */
export function readBringKey(file: string | undefined): Hex {
  const [text, from] = file
    ? [readFileSync(file, "utf8").trim(), `the file ${file}`]
    : [process.env[keyVariable], keyVariable];
  if (!text) {
    throw new Error(
      "a contract is missing on the chain: to deploy it, pass the private key of the account " +
        `that pays for the gas, with --key-file or ${keyVariable}`,
    );
  }
  const digits = text.replace(/^0x/, "");
  if (/^[0-9a-f]{64}$/i.test(digits)) return `0x${digits}`;
  const wanted = "a private key: 64 hex digits with or without 0x";
  throw new Error(`${from}: expected ${wanted}, found ${text.length} characters`);
}

/**
 * A transaction of a deployment. `gas` is the estimated gas. `wei` is the amount of native coin
 * that the transaction transfers.
 */
export type EstimatedStep = { name: string; gas: bigint; wei: bigint; data: Hex };

const noSalt: Hex = `0x${"00".repeat(32)}`;

/**
 * Estimates the transactions that the account `from` needs to deploy the missing contracts. Returns
 * an empty list if no contract is missing.
 *
 * @throws an error whose message says why the contracts cannot be deployed
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
  const isDeployerThere = await hasDeployer(reader);
  if (!isDeployerThere) {
    await assertDeployerDeployable(reader);
    const missing = fundingWei - (await getBalance(reader, { address: sender }));
    if (missing > 0n) {
      steps.push({ name: "deployer", gas: BigInt(transactionGasMin), wei: missing, data: "0x" });
    }
  }
  const deploy = async (name: string, creationCode: Hex, salt: Hex = noSalt) => {
    const data = concat([salt, creationCode]);
    const gas = await estimateGas(reader, {
      ...{ account: from, to: address, data, prepare: false },
      // The factory's constructor reverts unless the factory's address starts with four zero bytes.
      // With `factorySalt`, the address depends on the deployer, so the estimate needs the
      // deployer's code. If the chain does not have this code yet, a state override adds it.
      ...(isDeployerThere ? {} : { stateOverride: [{ address, code }] }),
    }).catch((error: BaseError) => {
      const reason = error.details || error.shortMessage;
      throw new Error(`the gas for deploying ${name} cannot be estimated: ${reason}`);
    });
    steps.push({ name, gas, wei: 0n, data });
  };
  const factoryCode = await getCode(reader, { address: factoryAddress });
  if (!factoryCode) await deploy("factory", factoryCreationCode, factorySalt);
  else assertFactory(factoryCode);
  for (const name of await missingPeriphery(rpc)) await deploy(name, periphery[name].bytecode);
  return steps;
}
