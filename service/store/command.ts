// Defines an operator's command. Each room has its own in its admin.ts; service/admin.ts runs them
// beside the server, on the same store.

import { parseArgs } from "node:util";
import type { Store } from "./store.ts";

export type Command = Words & (OnStore | Alone);

type Words = {
  /** The words as typed, such as `account create`. */
  words: string;
  /** `--name VALUE`: the name without dashes, and what its value is, for the usage. */
  options?: Record<string, string>;
  /** The options that may be left out. */
  optional?: string[];
  /** Names what follows the options, such as `ORIGIN...`; without it nothing may. */
  rest?: string;
  /** It makes the SQLite database if there is none; any other command is refused then. */
  makesDatabase?: true;
};

/**
 * `run` gives what is printed, as JSON; pieces of text from an async iterable as they are. It
 * throws an error whose message is one sentence for the operator.
 */
type OnStore = {
  opensNoStore?: never;
  run(context: CommandContext, given: Given): Promise<unknown>;
};
/** It needs no database, and none is made or waited for. */
type Alone = {
  opensNoStore: true;
  run(context: Omit<CommandContext, "store">, given: Given): Promise<unknown>;
};

export type CommandContext = {
  store: Store;
  /** A browser reaches the service there; no trailing slash. */
  publicUrl: string;
  dataDirectory: string;
  /** The path in `CHAINS_FILE`; the file is not read yet. */
  chainsFile: string;
};

/** `options` holds every required one. */
export type Given = { options: Record<string, string>; rest: string[] };

/** @throws an error that is the usage, of one command where it is known */
export function findCommand(
  commands: readonly Command[],
  words: string[],
): { command: Command; given: Given } {
  const text = words.join(" ");
  const command = commands.find((each) => text === each.words || text.startsWith(`${each.words} `));
  if (!command) {
    const usages = commands.map((each) => `  ${usage(each)}`).join("\n");
    throw new Error(`${text ? "no such command; " : ""}the commands are:\n${usages}`);
  }
  return { command, given: parse(command, words.slice(command.words.split(" ").length)) };
}

function parse(command: Command, args: string[]): Given {
  const { options = {}, optional = [] } = command;
  const isRequired = (name: string) => !optional.includes(name);
  try {
    const { values, positionals } = parseArgs({
      args,
      options: Object.fromEntries(Object.keys(options).map((name) => [name, { type: "string" }])),
      allowPositionals: command.rest !== undefined,
    });
    const missing = Object.keys(options).find((name) => isRequired(name) && !values[name]);
    if (missing) throw new Error(`--${missing} is missing`);
    return { options: values as Record<string, string>, rest: positionals };
  } catch (error) {
    const fault = (error as Error).message.split(". ")[0];
    throw new Error(`${fault}; expected: ${usage(command)}`);
  }
}

function usage({ words, options = {}, optional = [], rest }: Command): string {
  const flags = Object.entries(options).map(([name, value]) =>
    optional.includes(name) ? `[--${name} ${value}]` : `--${name} ${value}`,
  );
  return [words, ...flags, rest].filter(Boolean).join(" ");
}
