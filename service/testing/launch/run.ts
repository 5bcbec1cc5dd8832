// Runs launches in this process, for tests.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Hex } from "executable-address";
import type { LaunchState } from "../../launch/journal.ts";
import { launch } from "../../launch/launch.ts";
import type { LaunchOptions } from "../../launch/parts.ts";
import type { BareChain } from "./bare-chain.ts";

/**
 * Starts a launch, and pays the launch's address whenever the launch waits for the whole payment.
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
  // This prevents an unhandled rejection. A test gets the error when it awaits `done`.
  done.catch(() => {});
  return {
    done,
    lines,
    /**
     * Resolves when a line of the output matches. If the launch ends before that, rejects with all
     * lines.
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
 * Returns the state in the launch's journal, or an empty state if the launch has not written one.
 */
export function journalOf(chain: BareChain): LaunchState {
  const file = journalPath(chain);
  if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8"));
  return { chainId: 84_532, wallet: chain.wallet, sent: [] };
}

export const countSent = ({ client, wallet }: BareChain) =>
  client.getTransactionCount({ address: wallet });
