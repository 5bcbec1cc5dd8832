// Defines the type of an operator's command, and parses the arguments of a command. Each folder
// defines its commands in a file admin.ts. service/admin.ts runs the commands.

import { parseArgs } from "node:util";
import type { Store } from "../store/store.ts";

export type Command = Words & (OnStore | Alone);

type Words = {
  /** The command as an operator types it, such as `account create`. */
  words: string;
  /** Describes the command for the usage text, in one or two sentences. */
  does: string;
  /**
   * The options of the form `--name VALUE`. A key is the option's name, and its value is the
   * placeholder in the usage text.
   */
  options?: Record<string, string>;
  /** Options that can be omitted. */
  optional?: string[];
  /** Options that can be repeated or omitted. */
  repeatable?: string[];
  /** Options without a value, such as `dry-run`. */
  flags?: string[];
  /**
   * The placeholder for arguments without a name, such as `ORIGIN...`. Without this placeholder,
   * the command accepts only options.
   */
  rest?: string;
  /**
   * Whether the command creates the SQLite database if the database is missing. By default, the
   * command fails if there is no database.
   */
  makesDatabase?: true;
};

/**
 * A command that uses the database. `run` returns the output. An async iterable is printed as text,
 * and any other output is printed as JSON. If the command fails, `run` throws an error whose
 * message is written for the operator.
 */
type OnStore = {
  opensNoStore?: never;
  run(context: CommandContext, given: Given): Promise<unknown>;
};
/** A command that does not open the database. */
type Alone = {
  opensNoStore: true;
  run(context: Omit<CommandContext, "store">, given: Given): Promise<unknown>;
};

export type CommandContext = {
  store: Store;
  /** The URL at which browsers reach the service, without a trailing slash. */
  publicUrl: string;
  dataDirectory: string;
  /** The path of the chains file (`CHAINS_FILE`). The file is not read yet. */
  chainsFile: string;
};

/**
 * The parsed arguments of a command. `options` contains all required options and the given optional
 * options. `lists` contains the values of repeatable options.
 */
export type Given = {
  options: Record<string, string>;
  lists?: Record<string, string[]>;
  flags?: readonly string[];
  rest: string[];
};

/**
 * Finds the command and parses its arguments.
 *
 * @throws an error with the usage of the command, or of all commands if the command is unknown
 */
export function findCommand(
  commands: readonly Command[],
  words: string[],
): { command: Command; given: Given } {
  const text = words.join(" ");
  const command = commands.find((each) => text === each.words || text.startsWith(`${each.words} `));
  if (!command)
    throw new Error(`${text ? `unknown command: ${text}\n` : ""}${describeCommands(commands)}`);
  return { command, given: parse(command, words.slice(command.words.split(" ").length)) };
}

/** Returns the usage and the purpose of each command, for `--help` and for an unknown command. */
export function describeCommands(commands: readonly Command[]): string {
  const lines = commands.map((each) => `  ${usage(each)}\n      ${each.does}`);
  return ["commands:", ...lines].join("\n");
}

function parse(command: Command, args: string[]): Given {
  const { options = {}, optional = [], repeatable = [], flags = [] } = command;
  const isRequired = (name: string) => ![...optional, ...repeatable].includes(name);
  const texts = Object.keys(options).map((name) => {
    return [name, { type: "string" as const, multiple: repeatable.includes(name) }] as const;
  });
  const switches = flags.map((name) => [name, { type: "boolean" as const }] as const);
  try {
    const parsed = parseArgs({
      args,
      options: Object.fromEntries([...texts, ...switches]),
      allowPositionals: command.rest !== undefined,
    });
    const values: Record<string, unknown> = parsed.values;
    const missing = Object.keys(options).find((name) => isRequired(name) && !values[name]);
    if (missing) throw new Error(`missing --${missing}`);
    const entries = Object.entries(values);
    return {
      options: Object.fromEntries(
        entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"),
      ),
      lists: Object.fromEntries(
        repeatable.map((name) => [name, (values[name] as string[] | undefined) ?? []]),
      ),
      flags: flags.filter((name) => values[name] === true),
      rest: parsed.positionals,
    };
  } catch (error) {
    const fault = (error as Error).message.split(". ")[0];
    throw new Error(`${fault}; usage: ${usage(command)}`);
  }
}

function usage(command: Command): string {
  const { words, options = {}, optional = [], repeatable = [], flags = [], rest } = command;
  const texts = Object.entries(options).map(([name, value]) => {
    if (repeatable.includes(name)) return `[--${name} ${value} ...]`;
    return optional.includes(name) ? `[--${name} ${value}]` : `--${name} ${value}`;
  });
  return [words, ...texts, ...flags.map((name) => `[--${name}]`), rest].filter(Boolean).join(" ");
}
