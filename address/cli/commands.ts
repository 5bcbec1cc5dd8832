// The commands of `executable-address`. Every command reads JSON from an argument or stdin and
// prints JSON to stdout. One command can therefore read the output of another.

import { decodeExecutions } from "../calldata/execution.ts";
import { shaped } from "../client/answers.ts";
import {
  type AddressQuery,
  type Client,
  ClientError,
  createClient,
  type Finding,
  ServiceError,
} from "../client/client.ts";
import { UnprovenError } from "../client/errors.ts";
import { parseOptions } from "../client/options.ts";
import { saltFor, verifyReference } from "../client/reference.ts";
import { send } from "../client/request.ts";
import { factoryAddress } from "../deployment.ts";
import { formatIssue, InvalidError, type Issue } from "../errors.ts";
import { referenceKeyFormat, referenceKeyPattern } from "../ids.ts";
import type { AddressRecord, Hex, Intent } from "../intent/intent.ts";
import { parseJson } from "../intent/json.ts";
import { findCautions } from "../intent/new-intent.ts";
import { decodeTerms } from "../intent/terms.ts";
import { hiddenCharacter } from "../payment/inert.ts";
import { makeRecord, verifyRecord } from "../record.ts";
import { deriveReturns, type PaymentReturns, paymentReturns } from "../status/returns.ts";
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
  verifySavedReceipt,
} from "./chain.ts";

const usage = `usage: executable-address COMMAND [INPUT] [OPTIONS]

Create, look up, and verify executable addresses.

Offline commands
  derive INTENT         Derive the address of an intent and print its record
  verify RECORD         Verify a record or a list of records
                          --address A    also check that the record is of address A
                          --reference R  also check that the record was created for your reference R
  verify RECEIPT        Verify a receipt
                          --rpc NODE     compare its blocks with these nodes
  decode TERMS          Decode terms into an intent
  returns SUBJECT       Show where late, excess, or wrong-network payments go
  execution CALLDATA    Print the records in the calldata of execute, recover, rescue, or batch
  salt REFERENCE        Derive the salt of a reference

Service commands (need --url BASE, such as https://pay.example/v1)
  create INTENT         Create an address
                          --reference R  set the reference of the address
  check INTENT          Show what create would return, and warn about likely problems; save nothing
  lookup ADDRESS        Look up a record and verify it
  addresses QUERY       List the addresses of the account, one page at a time
                          QUERY is JSON, such as {"state":"executed"} or {}
  events CURSOR         List the events of the account after CURSOR (0 is the beginning)
  report ADDRESS        Report a wrong token that was sent to ADDRESS, so that it is returned
                          --token T or --transaction HASH

Chain commands (need --rpc NODE, which can be repeated; no service is used)
  prove SUBJECT         Create a receipt: the record, a proof of its outcome, and its payments
  status SUBJECT        Show the state and the balance
  rebuild --tx HASH     Print the records in a transaction to the factory
  execute SUBJECT       Run the calls
  recover SUBJECT       Send the balances to the recovery address
                          --token T      send other tokens
                          --transaction H  send the tokens that this transaction paid
  rescue SUBJECT        Make any call from the address (only its recovery address can)
                          --target T --value WEI --data X

Options
  --factory ADDRESS     Use a different factory
  --quorum N            Number of nodes that must agree (default: more than half)
  --confirmations N     Read the block that is N blocks before the newest block
  --keystore FILE       Sign transactions with this key
  --from ADDRESS        Ask the node to sign with the key of ADDRESS
  --dry-run             Show what would be sent, and send nothing
  --help, --version

Environment variables
  EXECUTABLE_ADDRESS_API_KEY        credential of create, check, addresses, and events
  EXECUTABLE_ADDRESS_CLIENT_ID      other credential of create and check
  EXECUTABLE_ADDRESS_REFERENCE_KEY  reference key, for salt and verify --reference
  EXECUTABLE_ADDRESS_PASSWORD       password of the --keystore file

INPUT is JSON, hex, or the name of a .json file. If INPUT is missing or "-", it is read from stdin.
You can pass a record instead of its intent, terms, or address. SUBJECT is a record, a receipt, an
intent, terms, the hash of a transaction to the factory, or an address with --url.

Exit status: 0 if successful, 1 if rejected or not proven, 2 if used incorrectly.
`;

/** The input, the output, and the environment of the process that runs a command. */
type Surroundings = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly readInput: () => Promise<string>;
  readonly readFile: (path: string) => string;
  readonly print: (text: string) => void;
  readonly complain: (text: string) => void;
};

/** `input` is the parsed JSON of the input, or its text if it is not JSON. */
type Given = OnChain & {
  readonly actor: Actor;
  readonly address: Hex | undefined;
  readonly reference: string | undefined;
  readonly referenceKey: () => string;
  readonly outside: Surroundings;
};

/**
 * The output of a command. The program also prints a warning for each misleading part of `intents`
 * ({@link findCautions}).
 */
type Answer = {
  readonly value: unknown;
  readonly intents?: readonly Intent[];
  /**
   * The errors of the calls in a batch, or the findings of the command `check`. A command with
   * errors or findings exits with status 1.
   */
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
      return { value: await verifySavedReceipt(given), notes: errors };
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
  returns: async (given) => ({ value: await readReturns(given) }),
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
  async report({ input, client, options: { one, many } }) {
    const address = partOf(input, "address") as Hex;
    const [token, ...more] = many.token;
    const transactionHash = one.transaction as Hex | undefined;
    if (more.length > 0 || (token === undefined) === (transactionHash === undefined))
      throw new Misuse("report: expected either one --token or one --transaction");
    const query = transactionHash ? { transactionHash } : { token: token as Hex };
    const value = await client().reportSent(address, query);
    if (!value) throw new UnprovenError(`the service has no intent for ${address}`);
    return { value };
  },
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

/**
 * Derives, for each kind of mistake, who can return the payment, and when they can return it. With
 * `--url`, asks the service whether it has an executor.
 */
async function readReturns(given: Given): Promise<PaymentReturns> {
  const record = await recordOf(given);
  const baseUrl = given.options.one.url;
  if (baseUrl === undefined) return deriveReturns(record);
  const { transport } = parseOptions({ baseUrl });
  const path = `/address/${record.address}/returns`;
  const answer = await send(transport, { method: "GET", path });
  return deriveReturns(record, shaped(paymentReturns, answer, "list of returns").executor);
}

/**
 * Verifies the record of an order. Adds a warning if the salt is derived only from the reference.
 * That salt does not prove that the intent is unchanged.
 */
function verifyOrder({ input, factory, address }: Given, reference: string, key: string): Answer {
  let notes: Error[] = [];
  const accepts = () => {
    notes = [
      new Doubtful(
        "this salt proves only that the address belongs to the reference: also compare the " +
          "token, amount, and calls with the order",
      ),
    ];
    return true;
  };
  const proved = verifyReference(input, reference, key, { factory, accepts });
  const record = verifyRecord(proved, address ? { factory, address } : { factory });
  return { ...ofRecord(record), notes };
}

/** A finding of a check: the address can be created but probably should not be. */
class Doubtful extends Error {}
const doubtOf = ({ cure, ...finding }: Finding) =>
  new Doubtful(`warning: ${formatIssue(finding)}; ${cure} (${finding.code})`);

const ofRecord = (record: AddressRecord): Answer => ({ value: record, intents: [record.intent] });
const ofRecords = (records: readonly AddressRecord[]): Answer => ({
  value: records,
  intents: records.map(({ intent }) => intent),
});

/** Returns the field `name` of a record, or `input` itself if it is not a record. */
function partOf(input: unknown, name: "address" | "intent" | "terms"): unknown {
  const isRecord =
    typeof input === "object" &&
    input !== null &&
    ["address", "factory", "intent", "terms"].every((field) => Object.hasOwn(input, field));
  return isRecord ? (input as AddressRecord)[name] : input;
}

/** Runs one command and returns the exit status. */
export async function run(args: readonly string[], outside: Surroundings): Promise<number> {
  const text = args.includes("--help") || args.includes("-h") ? usage : `${version}\n`;
  if (text === usage || args.includes("--version")) {
    outside.print(text);
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
    if (!command) throw new Misuse(name ? `unknown command: ${name}` : "missing command");
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

/** Parses text that begins like JSON. Returns other text, such as hex, unchanged. */
function parseInput(text: string): unknown {
  const trimmed = text.trim();
  return /^["[{]/.test(trimmed) ? parseJson(trimmed) : trimmed;
}

function clientOf(baseUrl: string | undefined, factory: Hex, env: Surroundings["env"]): Client {
  if (baseUrl === undefined)
    throw new Misuse("missing --url: the base URL of the service, such as https://pay.example/v1");
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
  const wanted = `expected ${referenceKeyFormat}`;
  throw new Misuse(`EXECUTABLE_ADDRESS_REFERENCE_KEY: ${wanted}, found ${found}`);
}

/** Returns one line for each fault, and hints such as the request ID. */
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
    ...(requestId === undefined ? [] : [`request ID: ${requestId}`]),
    ...(intent === undefined
      ? []
      : [`to create the same address again, send "salt": "${intent.salt}"`]),
  ];
  return [`${message}${reason}`, ...lines, ...more].map(inertLine).join("\n");
}

const faultLine = (fault: Issue): string => inertLine(`${formatIssue(fault)} (${fault.code})`);

const hiddenCharacters = new RegExp(hiddenCharacter, "gu");

/** Escapes hidden characters, including line breaks. */
const inertLine = (text: string): string => text.replace(hiddenCharacters, written);

/** Formats `value` as indented JSON in which hidden characters are escaped. */
const inertJson = (value: unknown): string =>
  JSON.stringify(value, null, 2).replace(hiddenCharacters, (text) =>
    text === "\n" ? text : written(text),
  );

function written(text: string): string {
  const units = Array.from({ length: text.length }, (_, index) => text.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}
