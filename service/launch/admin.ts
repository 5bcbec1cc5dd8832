// The operator's command `launch`: from a funded key to a proved payment on a chain.

import type { Config } from "../config.ts";
import type { Command } from "../store/command.ts";

/** @param say writes one line for the operator, which is no part of the answer */
export const launchCommand = (readConfig: () => Config, say: (line: string) => void): Command => ({
  words: "launch",
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
      { config: readConfig(), say },
    );
  },
});
