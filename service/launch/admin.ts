// Defines the operator's command `launch`, which deploys the contracts, receives a first payment,
// and proves it. The operator needs only the private key of a wallet that can pay for the gas.

import type { Command } from "../admin/command.ts";
import type { Config } from "../config.ts";

/** @param report writes one line for the operator to stderr */
export const launchCommand = (
  readConfig: () => Config,
  report: (line: string) => void,
): Command => ({
  words: "launch",
  does: "Deploys the contracts, receives a first payment, and proves it.",
  opensNoStore: true,
  options: { chain: "NAME", "key-file": "FILE", rpc: "URL" },
  repeatable: ["rpc"],
  flags: ["dry-run", "resume"],
  async run(_, { options, lists, flags }) {
    const { launch } = await import("./launch.ts");
    return launch(
      {
        chainName: options.chain!,
        keyFile: options["key-file"]!,
        rpcUrls: lists?.rpc ?? [],
        isDryRun: flags?.includes("dry-run") ?? false,
        isResume: flags?.includes("resume") ?? false,
      },
      { config: readConfig(), report },
    );
  },
});
