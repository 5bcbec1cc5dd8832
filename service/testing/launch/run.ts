// Runs launches in this process, for tests.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Hex } from "executable-address";
import type { LaunchState } from "../../launch/journal.ts";
import { launch } from "../../launch/launch.ts";
import type { LaunchOptions } from "../../launch/parts.ts";
import type { BareChain } from "./bare-chain.ts";

/**
 * Starts a launch. When the launch's output says that it waits for a payment, this function pays
 * the launch's address.
 */
export function runLaunch(chain: BareChain, change: Partial<LaunchOptions> = {}) {
  const options = { chainName: "base-sepolia", keyFile: chain.keyFile, rpcUrls: [] };
  const lines: string[] = [];
  const said = new EventTarget();
  let address: Hex | undefined;
  const report = (line: string) => {
    lines.push(line);
    address = (/\n {2}(0x[0-9a-fA-F]{40})\n/.exec(line)?.[1] as Hex) ?? address;
    if (line.startsWith("Waiting for the payment: 0 of ")) void chain.pay(address!);
    said.dispatchEvent(new Event("line"));
  };
  const done = launch(
    { ...options, isDryRun: false, isResume: false, ...change },
    { config: chain.config, report, pollMs: 20 },
  );
  // Prevents an unhandled rejection before the test awaits `done`.
  done.catch(() => {});
  return {
    done,
    lines,
    /**
     * Resolves with the first matching line of the output. If the launch ends before it prints a
     * matching line, rejects with all printed lines.
     */
    async prints(pattern: RegExp): Promise<string> {
      const ended = done.then(
        () => "ended",
        (error) => error,
      );
      for (;;) {
        const line = lines.find((each) => pattern.test(each));
        if (line !== undefined) return line;
        const next = new Promise<undefined>((resolve) =>
          said.addEventListener("line", () => resolve(undefined), { once: true }),
        );
        const end = await Promise.race([next, ended]);
        if (end !== undefined && !lines.some((each) => pattern.test(each))) {
          throw new Error(`no line matches ${pattern}:\n${lines.join("\n")}\n${end}`);
        }
      }
    },
  };
}

export const journalPath = ({ config }: BareChain) =>
  join(config.dataDirectory, "launch-84532.json");

/**
 * Returns the launch's state from its journal. If there is no journal, returns a state without
 * transactions.
 */
export function journalOf(chain: BareChain): LaunchState {
  const file = journalPath(chain);
  if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8"));
  return { chainId: 84_532, wallet: chain.wallet, sent: [] };
}

export const countSent = ({ client, wallet }: BareChain) =>
  client.getTransactionCount({ address: wallet });
