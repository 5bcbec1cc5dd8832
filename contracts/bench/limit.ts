// A lower bound for the gas of an execution. The calls run in their own transaction and from their
// own address, but without checks or events. The calls are compiled to init code, which the
// deterministic deployer runs. The deployed code is 31 zero bytes.

import { concat, type Hex, numberToHex, size, zeroHash } from "viem";

/** Calldata for the deterministic deployer. */
export function limitCalldata(calls: { target: Hex; data: Hex }[]): Hex {
  const perCallBytes = 3 + 3 + 2 + 2 + 3 + 2 + 21 + 3;
  const endBytes = 4;
  let at = calls.length * perCallBytes + endBytes;
  const code: Hex[] = [];
  for (const { target, data } of calls) {
    const bytes = numberToHex(size(data), { size: 2 });
    const load: Hex[] = ["0x61", bytes, "0x61", numberToHex(at, { size: 2 }), "0x5f39"];
    const call: Hex[] = ["0x5f5f", "0x61", bytes, "0x5f5f", "0x73", target, "0x5af150"];
    code.push(...load, ...call);
    at += size(data);
  }
  code.push("0x601f59f3", ...calls.map(({ data }) => data));
  return concat([zeroHash, ...code]);
}
