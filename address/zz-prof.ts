import { createKeccak } from "hash-wasm";
import { makeRecord } from "./index.ts";

const hasher = await createKeccak(256);
const keccak = (b: Uint8Array) => hasher.init().update(b).digest("binary");
const token = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";
const shop = "0x5fbdb2315678afecb367f032d93f642f64180aa3";
const pool = [
  { target: token, function: "approve(address spender, uint256 amount)", args: [shop, "25000000"] },
  {
    target: shop,
    function: "pay(uint256 order, address buyer, uint256 amount)",
    args: ["8123476120", "0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc", "25000000"],
  },
];
const ins = Array.from({ length: 2000 }, (_, i) => {
  const digits = (i * 2654435761).toString(16).padStart(12, "0");
  return {
    token,
    amount: String(25_000_000 + i),
    calls: pool,
    expirationTimestamp: 1_790_000_000 + i,
    recovery: `0x3c44cdddb6a900fa2b585dd299e0${digits}`,
    salt: `0x${digits.padStart(64, "5")}`,
    chainId: 8453,
  };
});
const t = performance.now();
let n = 0;
while (performance.now() - t < 4000)
  for (let i = 0; i < 100; i++) makeRecord(ins[n++ % 2000] as never, { keccak });
console.log((n / (performance.now() - t)) * 1000);
