// The commands of `executable-address`. JSON comes in as an argument or on stdin and goes out on
// stdout; what one command gives another takes. All work offline but those that ask a service or
// nodes.

import { decodeExecutions } from "../calldata/execution.ts";
import {
  type AddressQuery,
  type Client,
  ClientError,
  createClient,
  type Finding,
  ServiceError,
} from "../client/client.ts";
import { UnprovenError } from "../client/errors.ts";
import { referenceKeyPattern, saltFor, verifyReference } from "../client/reference.ts";
import { factoryAddress } from "../deployment.ts";
import { formatIssue, InvalidError, type Issue } from "../errors.ts";
import type { AddressRecord, Hex, Intent } from "../intent/intent.ts";
import { parseJson } from "../intent/json.ts";
import { findCautions } from "../intent/new-intent.ts";
import { decodeTerms } from "../intent/terms.ts";
import { hiddenCharacter } from "../payment/inert.ts";
import { makeRecord, verifyRecord } from "../record.ts";
import { version } from "../version.ts";
import { type Actor, act } from "./act.ts";
import { Misuse, type Options, parseArguments } from "./arguments.ts";
import {
  compareBlocks,
  disputedPayments,
  isReceipt,
  type OnChain,
  prove,
  readNow,
  rebuildRecords,
  recordOf,
  verifyKept,
} from "./chain.ts";

const usage = `usage: executable-address COMMAND [INPUT] [--factory ADDRESS]

  derive INTENT                   the record of an intent
  verify RECORD [--address A]     the record, if it proves itself (and is of the address A)
                                  --reference R: and was made for your reference R
  verify RECEIPT [--rpc NODE]…    what a receipt proves, by blocks that the nodes agree on
  decode TERMS                    the intent that terms spell
  execution CALLDATA              the records behind calldata of execute, recover,
                                  rescue or batch
  create INTENT --url BASE        creates an address; credential in EXECUTABLE_ADDRESS_API_KEY
                                  or EXECUTABLE_ADDRESS_CLIENT_ID
                                  --reference R: what you call it
  salt REFERENCE                  the salt that a reference gives under your reference key, in
                                  EXECUTABLE_ADDRESS_REFERENCE_KEY
  check INTENT --url BASE         what create would answer, tried, with every doubt about it on
                                  stderr and its place in the intent; creates nothing
  lookup ADDRESS --url BASE       the record the service has, proved
  addresses QUERY --url BASE      a page of the account's addresses; QUERY is JSON, such as
                                  {"state":"executed"} or {}. By the API key
  events CURSOR --url BASE        a page of the account's events behind CURSOR, 0 for the oldest.
                                  By the API key

By nodes of the chain alone, more than half of which must agree (or --quorum N), at a block under
--confirmations N others. SUBJECT is a record, a receipt, an intent, terms, the hash of a
transaction to the factory, or an address with --url:

  prove SUBJECT --rpc NODE…       the receipt: record, proof of what became of it, and who paid
  status SUBJECT --rpc NODE…      its state and what it holds
  rebuild --tx HASH --rpc NODE…   the records of a transaction to the factory, a batch's included
  execute SUBJECT --rpc NODE…     runs its calls
  recover SUBJECT --rpc NODE…     returns what is there to its recovery; --token T… for others
  rescue SUBJECT --rpc NODE…      any call from it, by its recovery: --target T --value WEI --data X

The last three say first what they will do. They send by --keystore FILE, with its password in
EXECUTABLE_ADDRESS_PASSWORD, or by --from ADDRESS of a node that has the key; --dry-run sends
nothing.

INPUT is JSON or hex, the name of a .json file, or from stdin where it is left out or "-". A record
is taken wherever its intent, its terms or its address is wanted, and verify takes a list of
records. BASE is as in https://pay.example/v1. --help says this, --version the version.
Exit status: 0 done, 1 refused or not proved, 2 misused.
`;

/** The parts of its process that a command is given: input, output, environment. */
type Surroundings = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readInput: () => Promise<string>;
  readonly readFile: (path: string) => string;
  readonly print: (text: string) => void;
  readonly complain: (text: string) => void;
};

/** `input`: what JSON gave, or text that is none. */
type Given = OnChain & {
  readonly actor: Actor;
  readonly address: Hex | undefined;
  readonly reference: string | undefined;
  readonly referenceKey: () => string;
  readonly outside: Surroundings;
};

/** A command's answer, and the intents in it that a reader should be warned of. */
type Answer = {
  readonly value: unknown;
  readonly intents?: readonly Intent[];
  /** Errors of parts that are told beside the rest. */
  readonly errors?: readonly (InvalidError | Doubtful)[];
  /** Warnings about a command that succeeded. */
  readonly notes?: readonly Error[];
};

const commands: Readonly<Record<string, (given: Given) => Answer | Promise<Answer>>> = {
  derive: ({ input, factory }) =>
    ofRecord(makeRecord(partOf(input, "intent") as Intent, { factory })),
  async verify(given) {
    const { input, factory, address, reference, referenceKey } = given;
    if (isReceipt(input)) {
      const errors = given.options.many.rpc.length === 0 ? [compareBlocks] : [];
      return { value: await verifyKept(given), notes: errors };
    }
    const options = address ? { factory, address } : { factory };
    if (reference !== undefined) return verifyOrder(given, reference, referenceKey());
    if (!Array.isArray(input)) return ofRecord(verifyRecord(input, options));
    return ofRecords(input.map((record) => verifyRecord(record, options)));
  },
  salt: ({ input, referenceKey }) => ({ value: saltFor(input as string, referenceKey()) }),
  decode({ input, factory }) {
    const intent = decodeTerms(partOf(input, "terms") as Hex, { factory });
    return { value: intent, intents: [intent] };
  },
  execution({ input, factory }) {
    const calls = decodeExecutions(input as Hex, { factory });
    const records = calls.flatMap((call) =>
      "error" in call ? [] : [makeRecord(call.intent, { factory })],
    );
    const errors = calls.flatMap((call) => ("error" in call ? [call.error] : []));
    return { ...ofRecords(records), errors };
  },
  async create({ input, client, reference }) {
    const options = reference === undefined ? {} : { reference };
    return ofRecord(await client().create(partOf(input, "intent") as Intent, options));
  },
  async check({ input, client, outside }) {
    const value = await client().check(partOf(input, "intent") as Intent);
    const { findings, notes, record } = value;
    for (const { path, code, message } of notes)
      outside.complain(`note: ${faultLine({ path, code, message })}\n`);
    return { value, intents: [record.intent], errors: findings.map(doubtOf) };
  },
  addresses: async ({ input, client }) => ({
    value: await client().addresses(input as AddressQuery),
  }),
  events: async ({ input, client }) => ({
    value: await client().events({ cursor: input as string }),
  }),
  async prove(given) {
    const value = await prove(given);
    return { value, notes: value.paymentsDisputed ? [disputedPayments] : [] };
  },
  rebuild: async (given) => ofRecords(await rebuildRecords(given)),
  status: async (given) => ({ value: await readNow(given, await recordOf(given)) }),
  execute: async (given) => ({ value: await act("execute", given, given.actor) }),
  recover: async (given) => ({ value: await act("recover", given, given.actor) }),
  rescue: async (given) => ({ value: await act("rescue", given, given.actor) }),
  async lookup({ input, client }) {
    const address = partOf(input, "address") as Hex;
    const record = await client().lookup(address);
    if (record) return ofRecord(record);
    throw new UnprovenError(`the service has no intent for ${address}`);
  },
};

/** A record of the user's order; a note says if its salt proves only the reference. */
function verifyOrder({ input, factory, address }: Given, reference: string, key: string): Answer {
  let notes: Error[] = [];
  const accepts = () => {
    notes = [new Doubtful("this salt proves the reference only: compare token, amount and calls")];
    return true;
  };
  const proved = verifyReference(input, reference, key, { factory, accepts });
  const record = verifyRecord(proved, address ? { factory, address } : { factory });
  return { ...ofRecord(record), notes };
}

/** A finding: the address can be created, and had better not be. */
class Doubtful extends Error {}
const doubtOf = ({ cure, ...finding }: Finding) =>
  new Doubtful(`doubt: ${formatIssue(finding)}; ${cure} (${finding.code})`);

const ofRecord = (record: AddressRecord): Answer => ({ value: record, intents: [record.intent] });
const ofRecords = (records: readonly AddressRecord[]): Answer => ({
  value: records,
  intents: records.map(({ intent }) => intent),
});

/** Gives a record's part; anything else is given as it is. */
function partOf(input: unknown, name: "address" | "intent" | "terms"): unknown {
  const isRecord =
    typeof input === "object" &&
    input !== null &&
    ["address", "factory", "intent", "terms"].every((field) => Object.hasOwn(input, field));
  return isRecord ? (input as AddressRecord)[name] : input;
}

/** Runs one command; gives the exit status. */
export async function run(args: readonly string[], outside: Surroundings): Promise<number> {
  const asked = args.includes("--help") || args.includes("-h") ? usage : `${version}\n`;
  if (asked === usage || args.includes("--version")) {
    outside.print(asked);
    return 0;
  }
  if (args.length === 0) {
    outside.complain(usage);
    return 2;
  }
  try {
    const { words, options } = parseArguments(args);
    const [name = "", argument = options.one.tx ?? "-", ...rest] = words;
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (!command) throw new Misuse(name ? `no command is called ${name}` : "a command is needed");
    if (rest.length > 0) throw new Misuse(`expected one input, found ${rest.length + 1}`);
    const text = await textOf(argument, outside);
    const {
      value,
      intents = [],
      errors = [],
      notes = [],
    } = await command(givenOf(parseInput(text), options, outside));
    outside.print(`${inertJson(value)}\n`);
    for (const caution of intents.flatMap((intent) => findCautions(intent, factoryOf(options))))
      outside.complain(`caution: ${faultLine(caution)}\n`);
    for (const error of [...notes, ...errors]) outside.complain(`${complaint(error)}\n`);
    return errors.length > 0 ? 1 : 0;
  } catch (error) {
    outside.complain(`${complaint(error)}\n`);
    if (error instanceof Misuse) outside.complain(`\n${usage}`);
    return error instanceof Misuse ? 2 : 1;
  }
}

async function textOf(argument: string, { readInput, readFile }: Surroundings) {
  if (argument === "-") return readInput();
  return /^[^{["\n]+\.json$/.test(argument) ? readFile(argument) : argument;
}

const factoryOf = ({ one }: Options) => ({ factory: (one.factory ?? factoryAddress) as Hex });

function givenOf(input: unknown, options: Options, outside: Surroundings): Given {
  const { env, readFile, complain } = outside;
  const { factory } = factoryOf(options);
  return {
    input,
    factory,
    options,
    outside,
    address: options.one.address as Hex | undefined,
    reference: options.one.reference,
    client: () => clientOf(options.one.url, factory, env),
    referenceKey: () => referenceKeyOf(env),
    actor: {
      readFile,
      password: env.EXECUTABLE_ADDRESS_PASSWORD,
      complain: (text) => complain(text.split("\n").map(inertLine).join("\n")),
    },
  };
}

/** JSON where it begins like JSON, else the text itself: hex. */
function parseInput(text: string): unknown {
  const trimmed = text.trim();
  return /^["[{]/.test(trimmed) ? parseJson(trimmed) : trimmed;
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

function referenceKeyOf({ EXECUTABLE_ADDRESS_REFERENCE_KEY: key }: Surroundings["env"]): string {
  if (key && referenceKeyPattern.test(key)) return key;
  const found = key ? `${key.length} characters` : "nothing";
  const wanted = "svc_ref_ and 64 hex digits";
  throw new Misuse(`EXECUTABLE_ADDRESS_REFERENCE_KEY: expected ${wanted}, found ${found}`);
}

/** One line a fault, and what helps to go on. */
function complaint(error: unknown): string {
  const { cause, message } = error as Error;
  const faults = [error, cause].flatMap((each) =>
    each instanceof InvalidError || each instanceof ServiceError ? each.issues : [],
  );
  const lines = faults.map(faultLine);
  if (error instanceof InvalidError) return lines.join("\n");
  const reason = cause instanceof Error && faults.length === 0 ? ` (${cause.message})` : "";
  const { intent, requestId } = error instanceof ClientError ? error : {};
  const more = [
    ...(requestId === undefined ? [] : [`request id: ${requestId}`]),
    ...(intent === undefined
      ? []
      : [`to create the same address again, send "salt": "${intent.salt}"`]),
  ];
  return [`${message}${reason}`, ...lines, ...more].map(inertLine).join("\n");
}

const faultLine = (fault: Issue): string => inertLine(`${formatIssue(fault)} (${fault.code})`);

const hiddenCharacters = new RegExp(hiddenCharacter, "gu");

/** One line. */
const inertLine = (text: string): string => text.replace(hiddenCharacters, written);

/** The JSON of `value`, indented: the same value, in characters that do nothing. */
const inertJson = (value: unknown): string =>
  JSON.stringify(value, null, 2).replace(hiddenCharacters, (text) =>
    text === "\n" ? text : written(text),
  );

function written(text: string): string {
  const units = Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}
