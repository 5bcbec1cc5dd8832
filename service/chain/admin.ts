// The operators' commands for chains. `chains check` checks every endpoint in the chains file, and
// compares the endpoints. `chain bring` deploys the factory and the periphery contracts to a chain.
// Large modules are imported only when a command needs them, so that other commands start quickly.

import { factoryAddress } from "executable-address";
import { factoryCodeHash } from "executable-address-contracts";
import { readChains } from "./chains.ts";
import { compareEndpoints } from "./compare.ts";
import { openChainRpc } from "./rpc/chain-rpc.ts";

export const chainCommands = [
  {
    words: "chains check",
    does: "Compares the chains file with every RPC endpoint in it.",
    opensNoStore: true as const,
    async run({ chainsFile }: { chainsFile: string }) {
      const { checkChain, missingPeriphery } = await import("./check.ts");
      const factory = { address: factoryAddress, codeHash: factoryCodeHash };
      const checks = readChains(chainsFile).map(async (chain) => {
        const compared = await compareEndpoints(chain, factoryAddress);
        return Promise.all(
          chain.rpcUrls.map(async (url, index) => {
            const rpc = openChainRpc([url]);
            const verdict = await checkChain(chain, rpc, factory);
            const lacks = verdict.kind === "right" ? { lacks: await missingPeriphery(rpc) } : {};
            // Only the host is printed, because the rest of the URL may contain an API key.
            const { chainId, name } = chain;
            return {
              chainId,
              name,
              endpoint: new URL(url).host,
              ...verdict,
              ...lacks,
              ...compared[index],
            };
          }),
        );
      });
      const verdicts = (await Promise.all(checks)).flat();
      const isBad = verdicts.some(
        ({ kind, differsOn, refuses }) => kind !== "right" || differsOn?.length || refuses?.length,
      );
      if (isBad) process.exitCode = 1;
      return verdicts;
    },
  },
  {
    words: "chain bring",
    does: "Deploys the factory and the periphery contracts to a chain.",
    opensNoStore: true as const,
    options: { rpc: "URL", "key-file": "FILE" },
    optional: ["key-file"],
    async run(_: object, { options }: { options: Record<string, string> }) {
      const { bring, readBringKey } = await import("./bring.ts");
      return bring(options.rpc!, () => readBringKey(options["key-file"]));
    },
  },
];
