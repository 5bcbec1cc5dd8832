// Everything an operator sets, read from the environment once, at start.
//
// A new setting is one line of `readConfig`: a reader below says what is right, and what a refusal
// says when it is not. Defaults are for development; secrets have none.

import { isIP } from "node:net";
import { fileURLToPath } from "node:url";
import ipaddr from "ipaddr.js";

export type Config = ReturnType<typeof readConfig>;

/** The environment holds invalid settings. A line for each: its value, and what would be right. */
export class ConfigError extends Error {
  override name = "ConfigError";
}

/** @throws {ConfigError} naming every variable at fault */
export function readConfig(environment: NodeJS.ProcessEnv) {
  const { read, optional, secret, faults, known } = readersOf(environment);
  const host = read("HOST", hostName, "127.0.0.1");
  const port = read("PORT", portNumber, "8080");
  const listensAt = faults.length === 0 ? new URL(`http://${hostInUrl(host)}:${port}`).origin : "";
  const config = {
    host,
    port,
    dataDirectory: read("DATA_DIR", text("a directory for the database"), ".data"),
    databaseUrl: secret("DATABASE_URL", postgresUrl),
    chainsFile: read("CHAINS_FILE", text("a JSON file of chains"), defaultChainsFile),
    labelsFile: optional("LABELS_FILE", text("a JSON file of names of contracts")),
    publicUrl: optional("PUBLIC_URL", baseUrl) ?? listensAt,
    docsUrl: optional("DOCS_URL", pageUrl),
    walletConnectProjectId: optional("WALLETCONNECT_PROJECT_ID", hex32),
    walletConnectRelay: optional("WALLETCONNECT_RELAY", webSocketUrl),
    trustedProxies: optional("TRUSTED_PROXIES", addressList),
    role: read("ROLE", oneOf(["api", "executor", "all"]), "api"),
    workers: read("WORKERS", wholeNumber(1, 128), "1"),
    signup: read("SIGNUP", oneOf(["open", "closed"]), "closed"),
    sessionSecret: secret("SESSION_SECRET", text32),
    metricsHost: read("METRICS_HOST", hostName, "127.0.0.1"),
    metricsPort: optional("METRICS_PORT", portNumber),
    logLevel: read("LOG_LEVEL", oneOf(["debug", "info", "warn", "error", "silent"]), "info"),
    drainSeconds: read("DRAIN_SECONDS", wholeNumber(0, 3600), "10"),
    expirySecondsMin: read("EXPIRY_SECONDS_MIN", wholeNumber(1, 31_622_400), "300"),
    expirySecondsMax: read("EXPIRY_SECONDS_MAX", wholeNumber(1, 31_622_400), "31622400"),
    createsInFlightMax: read("CREATES_IN_FLIGHT_MAX", wholeNumber(1, 1_000_000), "1024"),
    lookupsInFlightMax: read("LOOKUPS_IN_FLIGHT_MAX", wholeNumber(1, 1_000_000), "4096"),
    addressesPerAccountDay: read("ADDRESSES_PER_ACCOUNT_DAY", wholeNumber(0, 10_000_000), "0"),
    accountsPerNetworkDay: read("ACCOUNTS_PER_NETWORK_DAY", wholeNumber(0, 1_000_000), "0"),
    simulationCallsPerMinute: read(
      "SIMULATION_CALLS_PER_MINUTE",
      wholeNumber(0, 1_000_000),
      "3000",
    ),
    connectionsMax: optional("CONNECTIONS_MAX", wholeNumber(16, 1_000_000)),
    lookupCacheBytesMax: read("LOOKUP_CACHE_BYTES", wholeNumber(0, 2 ** 40), String(32 * 2 ** 20)),
    executorKey: secret("EXECUTOR_KEY", privateKey),
    executorKeystore: optional("EXECUTOR_KEYSTORE", text("a version 3 keystore file")),
    executorPasswordFile: optional("EXECUTOR_PASSWORD_FILE", text("the file of its password")),
    executorPollMs: read("EXECUTOR_POLL_MS", wholeNumber(50, 600_000), "1000"),
    executorLeaseSeconds: read("EXECUTOR_LEASE_SECONDS", wholeNumber(1, 3600), "15"),
    executorLooksPerPass: read("EXECUTOR_LOOKS_PER_PASS", wholeNumber(0, 3000), "450"),
    executorGasPerDayMax: read("EXECUTOR_GAS_PER_DAY_MAX", wei, String(10n ** 18n)),
    executorGasPerAccountMax: read("EXECUTOR_GAS_PER_ACCOUNT_MAX", wei, String(5n * 10n ** 17n)),
    executorGasPerClientIdMax: read("EXECUTOR_GAS_PER_CLIENT_ID_MAX", wei, String(10n ** 17n)),
    executorPays: read("EXECUTOR_PAYS", oneOf(["sponsor", "tips", "both"]), "both"),
    webhookTargets: read("WEBHOOK_TARGETS", oneOf(["public", "any"]), "public"),
    executorBalanceWarn: read("EXECUTOR_BALANCE_WARN", wei, String(5n * 10n ** 16n)),
  };
  faults.push(...contradictions(config, environment));
  faults.push(...unknownNames(Object.keys(environment), known));
  if (faults.length > 0) throw new ConfigError(faults.join("\n"));
  return config;
}

/** Readers of settings by kind. They collect faults, and the names that were read. */
function readersOf(environment: NodeJS.ProcessEnv) {
  const faults: string[] = [];
  const known = new Set<string>();
  const read = <Value>(name: string, reader: Reader<Value>, fallback: string): Value => {
    known.add(name);
    const text = environment[name] || fallback;
    try {
      return reader.parse(text);
    } catch {
      faults.push(`${name} is ${JSON.stringify(text)}; expected ${reader.expected}`);
      return undefined as Value;
    }
  };
  const optional = <Value>(name: string, reader: Reader<Value>): Value | undefined => {
    known.add(name);
    return environment[name] ? read(name, reader, "") : undefined;
  };
  const secret = (name: string, reader: Reader<string>): string | undefined => {
    known.add(name);
    try {
      return environment[name] ? reader.parse(environment[name]) : undefined;
    } catch {
      faults.push(`${name} is not shown here, being secret; expected ${reader.expected}`);
      return undefined;
    }
  };
  return { read, optional, secret, faults, known };
}

type Combined = { workers: number; role: string } & Record<`expirySeconds${"Min" | "Max"}`, number>;

/** Settings each of which is right alone. */
function contradictions(config: Combined, { DATABASE_URL }: NodeJS.ProcessEnv): string[] {
  const faults: string[] = [];
  if (config.expirySecondsMin > config.expirySecondsMax) {
    faults.push("EXPIRY_SECONDS_MIN is above EXPIRY_SECONDS_MAX; expected it below");
  }
  if (config.workers > 1 && !DATABASE_URL) {
    faults.push("WORKERS is above 1, and SQLite is one process's; expected DATABASE_URL beside it");
  }
  if (config.workers > 1 && config.role === "executor") {
    faults.push("WORKERS is above 1, and ROLE executor is one process; expected ROLE api or all");
  }
  return faults;
}

/** `EXECUTOR_` names that are no setting, and names a slip or two away from one, in any case. */
function unknownNames(names: string[], known: Set<string>): string[] {
  return names.flatMap((name) => {
    if (known.has(name)) return [];
    const near = [...known].find((each) =>
      each.length < 6 ? slips(name, each) <= 1 : slips(name.toUpperCase(), each) <= 2,
    );
    if (near === undefined && !/^EXECUTOR_/i.test(name)) return [];
    return [`${name} is no setting${near === undefined ? "" : `; expected ${near}`}`];
  });
}

/** Letters to add, leave out or change to get from `a` to `b`; a bound suffices above 2. */
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

/** `parse` throws where the text is not what is `expected`, which continues "expected …". */
export type Reader<Value> = { expected: string; parse: (text: string) => Value };

function text(expected: string): Reader<string> {
  return { expected, parse: (value) => value };
}

const text32: Reader<string> = {
  expected: "32 random characters or more; without it one is drawn and kept in the database",
  parse(value) {
    if (value.length < 32) throw new Error("short");
    return value;
  },
};

function oneOf<const Choice extends string>(choices: Choice[]): Reader<Choice> {
  return {
    expected: `one of ${choices.join(", ")}`,
    parse(value) {
      const choice = choices.find((each) => each === value);
      if (!choice) throw new Error("not a choice");
      return choice;
    },
  };
}

function wholeNumber(min: number, max: number): Reader<number> {
  return {
    expected: `a whole number from ${min} to ${max}`,
    parse(value) {
      const number = Number(value);
      if (!/^\d+$/.test(value) || number < min || number > max) throw new Error("out of range");
      return number;
    },
  };
}

const privateKey: Reader<string> = {
  expected: "a private key, 0x and 64 hex digits",
  parse(value) {
    if (!/^0x[0-9a-fA-F]{64}$/.test(value)) throw new Error("not a key");
    return value;
  },
};

const wei: Reader<string> = {
  expected: "a decimal number of wei",
  parse(value) {
    if (!/^[0-9]{1,40}$/.test(value)) throw new Error("not a number");
    return value;
  },
};

const hostName: Reader<string> = {
  expected: "a host name or address to listen on",
  parse(value) {
    if (!isIP(value) && !/^[\w.-]+$/.test(value)) throw new Error("not a host");
    new URL(`http://${hostInUrl(value)}`);
    return value;
  },
};

const portNumber = wholeNumber(0, 65_535);

const baseUrl: Reader<string> = {
  expected:
    "an http or https URL without path, query or trailing slash, such as https://pay.example",
  parse(value) {
    const url = new URL(value);
    if (!/^https?:$/.test(url.protocol) || url.origin !== value) throw new Error("not a base");
    return value;
  },
};

const pageUrl: Reader<string> = {
  expected: "an http or https URL without a password, such as https://docs.pay.example/guide",
  parse(value) {
    const url = new URL(value);
    if (!/^https?:$/.test(url.protocol) || url.username || url.password) throw new Error("no page");
    return url.href;
  },
};

const hex32: Reader<string> = {
  expected: "the 32 hex digits of a WalletConnect project",
  parse(value) {
    if (!/^[0-9a-f]{32}$/.test(value)) throw new Error("no project id");
    return value;
  },
};

const webSocketUrl: Reader<string> = {
  expected:
    "a wss URL without path, such as wss://relay.walletconnect.org, or a ws URL of this host",
  parse(value) {
    const { protocol, hostname, origin } = new URL(value);
    const isLocal = hostname === "127.0.0.1" || hostname === "localhost";
    if (protocol !== "wss:" && !(protocol === "ws:" && isLocal)) throw new Error("not encrypted");
    if (origin !== value) throw new Error("more than an origin");
    return value;
  },
};

const addressList: Reader<string> = {
  expected: "addresses or CIDR ranges of reverse proxies, such as 10.0.0.0/8,192.0.2.7",
  parse(value) {
    const isRange = (text: string) => isIP(text) || ipaddr.isValidCIDR(text);
    if (!value.split(",").every((range) => isRange(range.trim()))) throw new Error("not a range");
    return value;
  },
};

const postgresUrl: Reader<string> = {
  expected: "a URL such as postgres://user:password@host:5432/database",
  parse(value) {
    const url = new URL(value);
    if (!/^postgres(ql)?:$/.test(url.protocol) || url.pathname.length < 2) throw new Error("no");
    return value;
  },
};

/** An IPv6 address stands in brackets there, without its zone. */
const hostInUrl = (host: string) => (isIP(host) === 6 ? `[${host.split("%")[0]}]` : host);
