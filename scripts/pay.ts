// npm run pay -- ADDRESS [AMOUNT]: pays an address on the local chain, as any wallet would, with
// demo tokens minted for it. With --execute it then executes too, as anyone may.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { encodeExecution, toHex, verifyRecord } from "executable-address";
import { demoToken, factoryAddress } from "executable-address-contracts";
import type { Hex } from "viem";
import { type Demo, demoFile } from "./demo.ts";
import { localWallet, payerAccount } from "./local-chain.ts";

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { execute: { type: "boolean", default: false } },
});
const [address, amount] = positionals;
if (!address || (amount !== undefined && !/^[1-9]\d*$/.test(amount))) {
  console.error("usage: npm run pay -- ADDRESS [AMOUNT in base units] [--execute]");
  process.exit(2);
}

const { baseUrl, rpcUrl } = readDemo();
const response = await fetch(`${baseUrl}/address/${address}`);
const answer = (await response.json()) as { error?: { message: string } };
if (!response.ok) {
  console.error(`${baseUrl} answers ${response.status}: ${answer.error?.message}`);
  process.exit(1);
}
const { intent, ...record } = verifyRecord(answer, { factory: factoryAddress });
const wallet = localWallet(rpcUrl, payerAccount);

const token = { address: intent.token, abi: demoToken.abi } as const;
const value = BigInt(amount ?? intent.amount);
await settled(
  await wallet.writeContract({
    ...token,
    functionName: "mint",
    args: [payerAccount.address, value],
  }),
);
const paid = await wallet.writeContract({
  ...token,
  functionName: "transfer",
  args: [record.address, value],
});
await settled(paid);
console.log(`paid ${value} to ${record.address} in ${paid}`);

if (values.execute) {
  const executed = await wallet.sendTransaction({
    to: factoryAddress,
    data: toHex(encodeExecution(intent)),
  });
  await settled(executed);
  console.log(`executed in ${executed}`);
}

function readDemo(): Demo {
  const dataDir = resolve(process.env.DATA_DIR || `${import.meta.dirname}/../.data`);
  try {
    return JSON.parse(readFileSync(demoFile(dataDir), "utf8"));
  } catch {
    console.error(`nothing in ${dataDir} tells where the local chain is: run npm start first.`);
    process.exit(1);
  }
}

/** @throws when the transaction failed */
async function settled(hash: Hex): Promise<void> {
  const receipt = await wallet.waitForTransactionReceipt({ hash });
  if (receipt.status !== "success") throw new Error(`transaction ${hash} failed`);
}
