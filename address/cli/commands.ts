// The commands of `executable-address`. JSON comes in as an argument or on stdin and goes out on
// stdout; all but create and lookup work offline.

import { fromHex } from "../abi/hex.ts";
import {
  type AddressQuery,
  type Client,
  createClient,
  ServiceError,
  UnprovenError,
} from "../client/client.ts";
import { factoryAddress } from "../deployment.ts";
import { InvalidError, lineOf } from "../errors.ts";
import { decodeExecutions } from "../execution.ts";
import type { Hex, Intent } from "../intent/intent.ts";
import { decodeTerms } from "../intent/terms.ts";
import { makeRecord, verifyRecord } from "../record.ts";

const usage = `usage: executable-address COMMAND [INPUT] [--factory ADDRESS]

  derive INTENT                   the record of an intent
  verify RECORD [--address A]     the record, if it proves itself (and is of the address A)
  decode TERMS                    the intent that terms spell
  execution CALLDATA              the records behind the calldata of execute or executeBatch
  create INTENT --url BASE        creates an address; credential in EXECUTABLE_ADDRESS_API_KEY
                                  or EXECUTABLE_ADDRESS_CLIENT_ID
                                  --reference R: what you call it
  lookup ADDRESS --url BASE       the record the service has, proved
  addresses QUERY --url BASE      a page of the account's addresses; QUERY is JSON, such as
                                  {"state":"executed"} or {}. By the API key
  events CURSOR --url BASE        a page of the account's events behind CURSOR, 0 for the oldest.
                                  By the API key

INPUT is JSON or hex, from stdin where it is left out or "-". BASE is as in https://pay.example/v1.
Exit status: 0 done, 1 refused or not proved, 2 misused.
`;

/** What a command has of the outside. */
export type Surroundings = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readInput: () => Promise<string>;
  readonly print: (text: string) => void;
  readonly complain: (text: string) => void;
};

type Given = {
  readonly input: string;
  readonly factory: Hex;
  readonly address: Hex | undefined;
  readonly reference: string | undefined;
  readonly client: () => Client;
};

const commands: Readonly<Record<string, (given: Given) => unknown>> = {
  derive: ({ input, factory }) => makeRecord(parseJson(input) as Intent, { factory }),
  verify: ({ input, factory, address }) =>
    verifyRecord(parseJson(input), address ? { factory, address } : { factory }),
  decode: ({ input, factory }) => decodeTerms(fromHex(input), { factory }),
  execution: ({ input, factory }) =>
    decodeExecutions(fromHex(input), { factory }).map((intent) => makeRecord(intent, { factory })),
  create: ({ input, client, reference }) =>
    client().create(parseJson(input) as Intent, reference === undefined ? {} : { reference }),
  addresses: ({ input, client }) => client().addresses(parseJson(input) as AddressQuery),
  events: ({ input, client }) => client().events({ cursor: input }),
  async lookup({ input, client }) {
    const record = await client().lookup(input as Hex);
    if (!record) throw new UnprovenError("the service has no intent for this address");
    return record;
  },
};

/** Runs one command; gives the exit status. */
export async function run(args: readonly string[], outside: Surroundings): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    outside.print(usage);
    return 0;
  }
  if (args.length === 0) {
    outside.complain(usage);
    return 2;
  }
  try {
    const { words, options } = parseArguments(args);
    const [name = "", argument = "-", ...rest] = words;
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (!command) throw new Misuse(name ? `no command is called ${name}` : "a command is needed");
    if (rest.length > 0) throw new Misuse(`expected one input, found ${rest.length + 1}`);
    const input = argument === "-" ? (await outside.readInput()).trim() : argument;
    const factory = (options.factory ?? factoryAddress) as Hex;
    const address = options.address as Hex | undefined;
    const client = () => clientOf(options.url, factory, outside.env);
    const answer = await command({ input, factory, address, reference: options.reference, client });
    outside.print(`${JSON.stringify(answer, null, 2)}\n`);
    return 0;
  } catch (error) {
    outside.complain(`${complaint(error)}\n`);
    if (error instanceof Misuse) outside.complain(`\n${usage}`);
    return error instanceof Misuse ? 2 : 1;
  }
}

class Misuse extends Error {}

const optionNames = ["factory", "address", "url", "reference"] as const;
type Options = { [Name in (typeof optionNames)[number]]?: string };

function parseArguments(args: readonly string[]): { words: string[]; options: Options } {
  const words: string[] = [];
  const options: Options = {};
  for (let i = 0; i < args.length; i++) {
    const word = args[i]!;
    if (!word.startsWith("--")) {
      words.push(word);
      continue;
    }
    const name = optionNames.find((each) => word === `--${each}`);
    if (name === undefined) throw new Misuse(`no option is called ${word}`);
    const value = args[++i];
    if (value === undefined) throw new Misuse(`${word} needs a value`);
    options[name] = value;
  }
  return { words, options };
}

function clientOf(baseUrl: string | undefined, factory: Hex, env: Surroundings["env"]): Client {
  if (baseUrl === undefined) throw new Misuse("--url is needed: the service's base address");
  const { EXECUTABLE_ADDRESS_API_KEY: apiKey, EXECUTABLE_ADDRESS_CLIENT_ID: clientId } = env;
  try {
    const credential = { ...(apiKey && { apiKey }), ...(clientId && { clientId }) };
    return createClient({ baseUrl, factory, ...credential });
  } catch (error) {
    throw error instanceof TypeError ? new Misuse(error.message) : error;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Misuse("the input is not JSON");
  }
}

/** One line a fault. */
function complaint(error: unknown): string {
  const { cause } = error as Error;
  const faults =
    error instanceof InvalidError || error instanceof ServiceError
      ? error.issues
      : cause instanceof InvalidError
        ? cause.issues
        : [];
  const lines = faults.map((fault) => `${lineOf(fault)} (${fault.code})`);
  if (error instanceof InvalidError) return lines.join("\n");
  const reason = cause instanceof Error && faults.length === 0 ? ` (${cause.message})` : "";
  return [`${(error as Error).message}${reason}`, ...lines].join("\n");
}
