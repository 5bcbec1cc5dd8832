// A second implementation of an address's status, independent of the library's rule
// (address/status/rule.ts). This implementation reads the chain with viem. The library and the
// service do not use viem for statuses. Tests compare the statuses of the library and the service
// with this implementation.

import type { AddressRecord, Hex } from "executable-address";
import type { AddressState, AddressStatus, BlockReference } from "executable-address/status";
import { paymentFactoryAbi } from "executable-address-contracts";
import { parseAbi, size, zeroAddress } from "viem";
import type { World } from "./world.ts";

/**
 * Computes the expected status of `record` at `block`. The block must still be part of the chain.
 */
export async function expectedStatus(
  { client }: World,
  { address, factory, intent }: AddressRecord,
  block: BlockReference,
): Promise<AddressStatus> {
  const blockNumber = BigInt(block.number);
  const [code, native, balance, logs] = await Promise.all([
    client.getCode({ address, blockNumber }),
    client.getBalance({ address, blockNumber }),
    client.readContract({
      address: intent.token,
      abi: parseAbi(["function balanceOf(address owner) view returns (uint256)"]),
      functionName: "balanceOf",
      args: [address],
      blockNumber,
    }),
    client.getContractEvents({
      address: factory,
      abi: paymentFactoryAbi,
      fromBlock: 0n,
      toBlock: blockNumber,
      strict: true,
    }),
  ]);
  const isExpired = block.timestamp > intent.expirationTimestamp;
  const codeBytes = code ? size(code) : 0;
  const own = logs.filter(({ args }) => "vault" in args && args.vault === address);
  const executed = own.find((log) => log.eventName === "Executed");
  return {
    address,
    state: stateOf(codeBytes, isExpired, balance, BigInt(intent.amount)),
    chainId: intent.chainId,
    block,
    token: intent.token,
    balance: String(balance),
    amount: intent.amount,
    expirationTimestamp: intent.expirationTimestamp,
    recoverable: codeBytes > 0 || isExpired ? amounts(intent.token, balance, native) : [],
    execution: executed
      ? {
          ...placeOf(executed),
          held: String(executed.args.held),
          left: String(executed.args.left),
        }
      : null,
    recoveries: own.flatMap((log) =>
      log.eventName === "Recovered"
        ? [{ ...placeOf(log), token: log.args.token, amount: String(log.args.amount) }]
        : [],
    ),
  };
}

function stateOf(
  codeBytes: number,
  isExpired: boolean,
  balance: bigint,
  amount: bigint,
): AddressState {
  if (codeBytes === 41) return "executed";
  if (codeBytes === 42) return "recovered";
  if (codeBytes > 0) throw new Error(`${codeBytes} bytes of code are no vault's`);
  if (isExpired) return "expired";
  if (balance === 0n) return "unfunded";
  return balance < amount ? "partially_funded" : "funded";
}

function amounts(token: Hex, balance: bigint, native: bigint) {
  const held = [];
  if (balance > 0n) held.push({ token, amount: String(balance) });
  if (native > 0n) held.push({ token: zeroAddress, amount: String(native) });
  return held;
}

type Place = { transactionHash: Hex; blockNumber: bigint; blockHash: Hex; logIndex: number };

const placeOf = ({ transactionHash, blockNumber, blockHash, logIndex }: Place) => ({
  transactionHash,
  blockNumber: Number(blockNumber),
  blockHash,
  logIndex,
});
