// Reads all settings of the operator from the environment, once at startup.
//
// For each setting, a schema defines the valid values and the error message. Default values are for
// development. Secrets have no default value.

import { isIP } from "node:net";
import { fileURLToPath } from "node:url";
import { isAddress } from "executable-address";
import ipaddr from "ipaddr.js";
import { z } from "zod";
import { defaultTuning, leaseMsMin, renewalMs, renewalMsMax } from "./executor/settings.ts";
import { defaultLimits, type Limits } from "./http/limits.ts";

export type Config = ReturnType<typeof readConfig>;

/** The settings that select the executor's keys. Workers without an executor do not get them. */
export const keySettings = [
  "EXECUTOR_KEYS",
  "EXECUTOR_KEY",
  "EXECUTOR_KEYSTORE",
  "EXECUTOR_PASSWORD_FILE",
  "EXECUTOR_SIGNER_URL",
  "EXECUTOR_ADDRESS",
] as const;

/**
 * Thrown if settings in the environment are invalid. Each line of the message contains a setting,
 * its value, and the valid values.
 */
export class ConfigError extends Error {
  override name = "ConfigError";
}

/** @throws {ConfigError} with every invalid variable */
export function readConfig(environment: NodeJS.ProcessEnv) {
  const readers = readersOf(environment);
  const { faults, known } = readers;
  const config = {
    ...serverSettings(readers),
    limits: limitSettings(readers),
    ...executorSettings(readers),
  };
  faults.push(...contradictions(config, environment));
  faults.push(...unknownNames(Object.keys(environment), known));
  if (faults.length > 0) throw new ConfigError(faults.join("\n"));
  return config;
}

function serverSettings({ read, optional, secret, faults }: Readers) {
  const host = read("HOST", hostName, "127.0.0.1");
  const port = read("PORT", portNumber, 8080);
  const listensAt = faults.length === 0 ? new URL(`http://${hostInUrl(host)}:${port}`).origin : "";
  return {
    host,
    port,
    dataDirectory: read("DATA_DIR", text("a folder for the database"), ".data"),
    databaseUrl: secret("DATABASE_URL", postgresUrl),
    chainsFile: read("CHAINS_FILE", text("a JSON file of chains"), defaultChainsFile),
    labelsFile: optional("LABELS_FILE", text("a JSON file of names of contracts")),
    publicUrl: optional("PUBLIC_URL", baseUrl) ?? listensAt,
    docsUrl: optional("DOCS_URL", pageUrl),
    securityContact: optional("SECURITY_CONTACT", contactUri),
    trustedProxies: optional("TRUSTED_PROXIES", addressList),
    role: read("ROLE", oneOf(["api", "executor", "all"]), "api"),
    workers: read("WORKERS", wholeNumber(1, 128), 1),
    signup: read("SIGNUP", oneOf(["open", "closed"]), "closed"),
    sessionSecret: secret("SESSION_SECRET", text32),
    metricsHost: read("METRICS_HOST", hostName, "127.0.0.1"),
    metricsPort: optional("METRICS_PORT", portNumber),
    logLevel: read("LOG_LEVEL", oneOf(["debug", "info", "warn", "error", "silent"]), "info"),
    drainSeconds: read("DRAIN_SECONDS", wholeNumber(0, 3600), 10),
    accountsPerNetworkDay: read("ACCOUNTS_PER_NETWORK_DAY", wholeNumber(0, 1_000_000), 0),
    webhookTargets: read("WEBHOOK_TARGETS", oneOf(["public", "any"]), "public"),
  };
}

function limitSettings({ read }: Readers): Limits {
  const between = (min: number, max: number) => (name: string, byDefault: number) =>
    read(name, wholeNumber(min, max), byDefault);
  const atOnce = between(1, 1_000_000);
  const orNone = between(0, 10_000_000);
  const usual = defaultLimits;
  const seconds = between(1, usual.expirySecondsMax);
  return {
    headersMsMax: usual.headersMsMax,
    expirySecondsMin: seconds("EXPIRY_SECONDS_MIN", usual.expirySecondsMin),
    expirySecondsMax: seconds("EXPIRY_SECONDS_MAX", usual.expirySecondsMax),
    createsInFlightMax: atOnce("CREATES_IN_FLIGHT_MAX", usual.createsInFlightMax),
    lookupsInFlightMax: atOnce("LOOKUPS_IN_FLIGHT_MAX", usual.lookupsInFlightMax),
    addressesPerAccountDay: orNone("ADDRESSES_PER_ACCOUNT_DAY", usual.addressesPerAccountDay),
    simulationCallsPerMinute: orNone("SIMULATION_CALLS_PER_MINUTE", usual.simulationCallsPerMinute),
    connectionsMax: between(16, 1_000_000)("CONNECTIONS_MAX", usual.connectionsMax),
    lookupCacheBytesMax: between(0, 2 ** 40)("LOOKUP_CACHE_BYTES", usual.lookupCacheBytesMax),
  };
}

function executorSettings({ read, optional, secret }: Readers) {
  const { pollMs, leaseMs, recordsPerPass } = defaultTuning;
  const executorMirrors = optional("EXECUTOR_MIRRORS", mirrorList);
  const leaseSeconds = wholeNumber(leaseMsMin / 1000, 3600);
  const payers = oneOf(["sponsor", "tips", "both"]);
  const executorPays = read("EXECUTOR_PAYS", payers, executorMirrors ? "tips" : "both");
  const reportedPerDay = read("EXECUTOR_REPORTED_TOKENS_PER_DAY", wholeNumber(0, 10_000), 10);
  return {
    executorKeys: optional("EXECUTOR_KEYS", text("a JSON file of keys")),
    executorKey: secret("EXECUTOR_KEY", privateKey),
    executorKeystore: optional("EXECUTOR_KEYSTORE", text("a version 3 keystore file")),
    executorPasswordFile: optional("EXECUTOR_PASSWORD_FILE", text("the file of its password")),
    executorSignerUrl: secret("EXECUTOR_SIGNER_URL", signerUrl),
    executorAddress: optional("EXECUTOR_ADDRESS", address20),
    executorPollMs: read("EXECUTOR_POLL_MS", wholeNumber(50, renewalMsMax), pollMs),
    executorLeaseSeconds: read("EXECUTOR_LEASE_SECONDS", leaseSeconds, leaseMs / 1000),
    executorRecordsPerPass: read("EXECUTOR_RECORDS_PER_PASS", wholeNumber(0, 3000), recordsPerPass),
    executorGasPerDayMax: read("EXECUTOR_GAS_PER_DAY_MAX", wei, 10n ** 18n),
    executorGasPerAccountMax: read("EXECUTOR_GAS_PER_ACCOUNT_MAX", wei, 5n * 10n ** 17n),
    executorGasPerClientIdMax: read("EXECUTOR_GAS_PER_CLIENT_ID_MAX", wei, 10n ** 17n),
    executorMirrors,
    executorPays,
    /**
     * The maximum number of reported tokens to return per day, for each account on each chain. With
     * `EXECUTOR_PAYS=tips`, the maximum is zero, because the executor gets no tip for returning a
     * reported token.
     */
    executorReportedTokensPerDay: executorPays === "tips" ? 0 : reportedPerDay,
    executorBalanceWarn: read("EXECUTOR_BALANCE_WARN", wei, 5n * 10n ** 16n),
  };
}

type Readers = ReturnType<typeof readersOf>;

/**
 * Returns functions that read and parse settings. The functions collect errors in `faults`, and the
 * names of all settings in `known`.
 */
function readersOf(environment: NodeJS.ProcessEnv) {
  const faults: string[] = [];
  const known = new Set<string>();
  const parse = <Value>(name: string, text: string, schema: z.ZodType<Value>, shown: string) => {
    const parsed = schema.safeParse(text);
    if (parsed.success) return parsed.data;
    faults.push(`${name} is ${shown}; expected ${parsed.error.issues[0]?.message}`);
    return undefined as Value;
  };
  const read = <Value>(name: string, schema: z.ZodType<Value>, fallback: unknown): Value => {
    known.add(name);
    const text = environment[name] || String(fallback);
    return parse(name, text, schema, JSON.stringify(text));
  };
  const optional = <Value>(name: string, schema: z.ZodType<Value>): Value | undefined => {
    known.add(name);
    return environment[name] ? read(name, schema, "") : undefined;
  };
  const secret = (name: string, schema: z.ZodType<string>): string | undefined => {
    known.add(name);
    const text = environment[name];
    return text ? parse(name, text, schema, "a secret, which is not shown") : undefined;
  };
  return { read, optional, secret, faults, known };
}

type Combined = {
  workers: number;
  role: string;
  limits: Limits;
  executorPollMs: number;
  executorLeaseSeconds: number;
};

/** Returns an error for each pair of settings that contradict each other. */
function contradictions(config: Combined, { DATABASE_URL }: NodeJS.ProcessEnv): string[] {
  const faults: string[] = [];
  if (config.limits.expirySecondsMin > config.limits.expirySecondsMax) {
    const { expirySecondsMin: min, expirySecondsMax: max } = config.limits;
    faults.push(
      `EXPIRY_SECONDS_MIN is ${min}; expected at most EXPIRY_SECONDS_MAX, which is ${max}`,
    );
  }
  if (config.workers > 1 && !DATABASE_URL) {
    faults.push(
      "WORKERS is above 1, but only one process can use SQLite; expected DATABASE_URL or " +
        "WORKERS=1",
    );
  }
  if (config.workers > 1 && config.role === "executor") {
    faults.push(
      "WORKERS is above 1, but ROLE=executor runs a single process; expected ROLE=api or ROLE=all",
    );
  }
  // Polls renew the lease. With a longer interval, a standby could take the lease between polls.
  const pollMsMax = Math.floor(renewalMs(config.executorLeaseSeconds * 1000));
  if (config.executorPollMs > pollMsMax) {
    faults.push(
      `EXECUTOR_POLL_MS is ${config.executorPollMs}; expected at most ${pollMsMax}, a third of ` +
        `EXECUTOR_LEASE_SECONDS, which is ${config.executorLeaseSeconds}`,
    );
  }
  return faults;
}

/**
 * Returns an error for each unknown variable that looks like a misspelled setting. Also returns an
 * error for each unknown variable whose name begins with `EXECUTOR_`, in any letter case.
 */
function unknownNames(names: string[], known: Set<string>): string[] {
  return names.flatMap((name) => {
    if (known.has(name)) return [];
    const near = [...known].find((each) =>
      each.length < 6 ? slips(name, each) <= 1 : slips(name.toUpperCase(), each) <= 2,
    );
    if (near === undefined && !/^EXECUTOR_/i.test(name)) return [];
    return [`${name} is not a setting${near === undefined ? "" : `; expected ${near}`}`];
  });
}

/** Returns the edit distance between `a` and `b`, or a number above 2 if it exceeds 2. */
function slips(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 2) return 3;
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}

const defaultChainsFile = fileURLToPath(new URL("chains.json", import.meta.url));

const text = (expected: string) => z.string(expected);

const matching = (pattern: RegExp, expected: string) => z.string().regex(pattern, expected);

const oneOf = <const Choice extends string>(choices: Choice[]) =>
  z.enum(choices, `one of ${choices.join(", ")}`);

const wholeNumber = (min: number, max: number) =>
  matching(/^\d+$/, `a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((number) => min <= number && number <= max, `a whole number from ${min} to ${max}`);

const urlThat = (isRight: (url: URL, text: string) => boolean, expected: string) =>
  z.string().refine((text) => URL.canParse(text) && isRight(new URL(text), text), expected);

const text32 = z
  .string()
  .min(
    32,
    "at least 32 random characters, or no value: without a value, the service creates a secret " +
      "and stores it in the database",
  );

const privateKey = matching(/^0x[0-9a-fA-F]{64}$/, "a private key: 0x and 64 hex digits");

const address20 = z.string().refine(isAddress, "an address: 0x and 40 hex digits");

const wei = matching(/^[0-9]{1,40}$/, "a decimal number of wei");

const hostName = z
  .string()
  .refine(
    (host) => (isIP(host) || /^[\w.-]+$/.test(host)) && URL.canParse(`http://${hostInUrl(host)}`),
    "a host name or address to listen on",
  );

const portNumber = wholeNumber(0, 65_535);

const isHttp = ({ protocol }: URL) => protocol === "http:" || protocol === "https:";

const baseUrl = urlThat(
  (url, text) => isHttp(url) && url.origin === text,
  "an http or https URL without a path, a query, or a trailing slash, such as https://pay.example",
);

const isMirror = (text: string) =>
  URL.canParse(text) && isHttp(new URL(text)) && !/[?#]|\/$/.test(text);

const mirrorList = z
  .string()
  .transform((list) => list.split(",").map((each) => each.trim()))
  .refine(
    (urls) => urls.every(isMirror),
    "base URLs of mirrors, separated by commas, such as https://mirror.example/v1",
  );

const pageUrl = urlThat(
  (url) => isHttp(url) && !url.username && !url.password,
  "an http or https URL without a password, such as https://docs.pay.example/guide",
).transform((text) => new URL(text).href);

const signerUrl = urlThat(isHttp, "an http or https URL of a remote signer");

/** RFC 9116, 2.5.3. The URI is part of a one-line field, so it must not contain white space. */
const contactUri = urlThat(
  ({ protocol }, text) => /^(https|mailto|tel):$/.test(protocol) && /^[!-~]+$/.test(text),
  "a mailto, https, or tel URI, such as mailto:security@pay.example",
);

const postgresUrl = urlThat(
  ({ protocol, pathname }) => /^postgres(ql)?:$/.test(protocol) && pathname.length > 1,
  "a URL such as postgres://user:password@host:5432/database",
);

const isRange = (text: string) => isIP(text) > 0 || ipaddr.isValidCIDR(text);

const addressList = z
  .string()
  .refine(
    (list) => list.split(",").every((range) => isRange(range.trim())),
    "addresses or CIDR ranges of reverse proxies, such as 10.0.0.0/8,192.0.2.7",
  );

/** Puts an IPv6 address in brackets and removes its zone, as URLs require. */
const hostInUrl = (host: string) => (isIP(host) === 6 ? `[${host.split("%")[0]}]` : host);
