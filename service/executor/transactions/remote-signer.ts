// Signs with a remote signer over HTTP (eth_signTransaction, like web3signer). Each signature is
// verified before it is used.

import { fromHex, type Hex } from "executable-address";
import type { TransactionSerializedEIP1559 } from "viem";
import {
  keccak256,
  numberToHex,
  parseTransaction,
  recoverAddress,
  serializeTransaction,
} from "viem/utils";
import { httpEndpoint } from "../../chain/rpc/endpoint.ts";
import type { Signer, UnsignedTransaction } from "../pass.ts";

/** The remote signer refused to sign, or returned no valid signature for the transaction. */
class SignerRefused extends Error {
  override name = "SignerRefused";
}

/**
 * The time limit for one attempt. It is so short that four attempts take less time than `leaseMs`.
 */
export const signerTimeoutMs = 2000;
/** The largest valid `s` in a transaction's signature (EIP-2): half of the curve's order. */
const sMax = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;

/**
 * Signs with a remote signer.
 * @param url the signer's URL, which is never logged, because it can contain a password
 */
export function remoteSigner(
  url: string,
  address: Hex,
  timeoutMs: number = signerTimeoutMs,
): Signer {
  const endpoint = httpEndpoint("the signer", url, { timeoutMs });
  return {
    address,
    async sign(transaction) {
      const { chainId, nonce, to, data, gas, maxFee, priorityFee } = transaction;
      const quantities = {
        chainId: numberToHex(chainId),
        nonce: numberToHex(nonce),
        gas: numberToHex(gas),
        maxFeePerGas: numberToHex(maxFee),
        maxPriorityFeePerGas: numberToHex(priorityFee),
        value: "0x0",
      };
      const params = [{ from: address, to, data, ...quantities }];
      const [answer] = await endpoint.ask([{ method: "eth_signTransaction", params }]);
      // The signer's message is not logged, because it can quote the request.
      if (answer && "error" in answer) {
        throw new SignerRefused(`the signer returned an error with code ${answer.error.code}`);
      }
      return verifySigned(answer?.result, transaction, address);
    },
  };
}

/**
 * Returns the signed transaction if `address` signed it and its fields equal `wanted`.
 *
 * @throws {SignerRefused} otherwise
 */
async function verifySigned(raw: unknown, wanted: UnsignedTransaction, address: Hex): Promise<Hex> {
  const { signature, ...signed } = parseSigned(raw);
  const unsigned = toEip1559(wanted);
  const again = serializeTransaction(unsigned, signature);
  if (again !== raw) {
    const where = differing(unsigned, signed).join(", ") || "its encoding";
    throw new SignerRefused(`the signer changed the transaction: ${where}`);
  }
  if (BigInt(signature.s) > sMax)
    throw new SignerRefused("the signer's signature has an s above half the curve order");
  const hash = keccak256(serializeTransaction(unsigned));
  const signedBy = await recoverAddress({ hash, signature }).catch(() => "no address");
  if (signedBy.toLowerCase() !== address) {
    throw new SignerRefused(`expected a signature by ${address}, found ${signedBy}`);
  }
  return again;
}

/** Returns the names of the fields in which two transactions differ. */
function differing(wanted: Record<string, unknown>, signed: Record<string, unknown>): string[] {
  const toText = (value: unknown) => String(value).toLowerCase();
  const names = Object.keys({ ...wanted, ...signed });
  return names.filter((name) => toText(wanted[name]) !== toText(signed[name]));
}

function parseSigned(raw: unknown) {
  try {
    fromHex(raw as string);
    const {
      r,
      s,
      v: _,
      yParity,
      ...signed
    } = parseTransaction(raw as TransactionSerializedEIP1559);
    if (r && s && yParity !== undefined) return { ...signed, signature: { r, s, yParity } };
  } catch {
    // The error below does not quote the answer, which must not be logged.
  }
  const found = typeof raw === "string" ? `${raw.length} characters` : "no text";
  throw new SignerRefused(`expected a signed EIP-1559 transaction from the signer, found ${found}`);
}

/** Converts a transaction to the fields that viem signs and serializes. */
export const toEip1559 = ({ maxFee, priorityFee, gas, ...rest }: UnsignedTransaction) => ({
  ...rest,
  type: "eip1559" as const,
  gas: BigInt(gas),
  maxFeePerGas: maxFee,
  maxPriorityFeePerGas: priorityFee,
});
