import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ConfigError, readConfig } from "./config.ts";

const linesOf = (environment: NodeJS.ProcessEnv): string[] => {
  try {
    readConfig(environment);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.message.split("\n");
  }
  return [];
};

describe("readConfig", () => {
  const refused: [string, NodeJS.ProcessEnv, RegExp][] = [
    ["an invalid port", { PORT: "http" }, /^PORT is "http"; expected a whole number from 0/],
    ["a port above 65535", { PORT: "65536" }, /^PORT is "65536"; expected/],
    ["an invalid host", { HOST: "a host" }, /^HOST is "a host"; expected a host name or/],
    ["a host with a path", { HOST: "127.0.0.1/x" }, /^HOST is/],
    ["a host of too many numbers", { HOST: "127.0.0.0.1" }, /^HOST is/],
    ["an unknown role", { ROLE: "web" }, /^ROLE is "web"; expected one of api, executor, all/],
    [
      "an unknown sign-up mode",
      { SIGNUP: "yes" },
      /^SIGNUP is "yes"; expected one of open, closed/,
    ],
    ["a URL with a path", { PUBLIC_URL: "https://x.example/p" }, /^PUBLIC_URL is .*without a path/],
    ["a URL with a trailing slash", { PUBLIC_URL: "https://x.example/" }, /^PUBLIC_URL is/],
    ["a URL of another scheme", { PUBLIC_URL: "ftp://x.example" }, /^PUBLIC_URL is/],
    [
      "an invalid URL of the docs",
      { DOCS_URL: "javascript:alert(1)" },
      /^DOCS_URL is .* expected an http/,
    ],
    ...["security@pay.example", "http://pay.example/report", "mailto:a@b.example\nExpires: 1"].map(
      (contact): [string, NodeJS.ProcessEnv, RegExp] => [
        `a contact that is not a URI of one line: ${contact}`,
        { SECURITY_CONTACT: contact },
        /^SECURITY_CONTACT is .* expected a mailto, https, or tel URI/,
      ],
    ),
    [
      "a mirror that ends with a slash",
      { EXECUTOR_MIRRORS: "https://a.example/v1,https://b.example/v1/" },
      /^EXECUTOR_MIRRORS is .*; expected base URLs of mirrors/,
    ],
    [
      "a poll interval above 10 s",
      { EXECUTOR_POLL_MS: "10001", EXECUTOR_LEASE_SECONDS: "60" },
      /^EXECUTOR_POLL_MS is "10001"; expected a whole number from 50 to 10000$/,
    ],
    [
      "a poll interval above a third of the lease",
      { EXECUTOR_POLL_MS: "6667", EXECUTOR_LEASE_SECONDS: "20" },
      /^EXECUTOR_POLL_MS is 6667; .* at most 6666, a third of EXECUTOR_LEASE_SECONDS, which is 20$/,
    ],
    [
      "a lease that is shorter than some requests",
      { EXECUTOR_LEASE_SECONDS: "14" },
      /^EXECUTOR_LEASE_SECONDS is "14"; expected a whole number from 15 to 3600$/,
    ],
    ["an unknown log level", { LOG_LEVEL: "loud" }, /^LOG_LEVEL is "loud"; expected one of/],
    ["a negative drain time", { DRAIN_SECONDS: "-1" }, /^DRAIN_SECONDS is "-1"; expected/],
    [
      "an unknown setting of the executor",
      { EXECUTOR_GAS_PRICE: "1" },
      /^EXECUTOR_GAS_PRICE is not a setting$/,
    ],
    [
      "a misspelled name",
      { TRUSTED_PROXYES: "10.0.0.1" },
      /^TRUSTED_PROXYES is not a setting; expected TRUSTED_PROXIES$/,
    ],
    [
      "a name with two wrong characters",
      { SIGN_UPP: "open" },
      /^SIGN_UPP is not a setting; expected SIGNUP$/,
    ],
    ["a misspelled short name", { ROLES: "all" }, /^ROLES is not a setting; expected ROLE$/],
    [
      "a lowercase name",
      { database_url: "postgres://u@h/d" },
      /^database_url is not a setting; expected DATABASE_URL$/,
    ],
    [
      "several workers on SQLite",
      { WORKERS: "2" },
      /^WORKERS is above 1, but only one process can use SQLite; expected DATABASE_URL or /,
    ],
    [
      "several workers with the role executor",
      { WORKERS: "2", ROLE: "executor", DATABASE_URL: "postgres://u@h/d" },
      /^WORKERS is above 1, but ROLE=executor runs a single process; expected ROLE=api or /,
    ],
    ["zero workers", { WORKERS: "0" }, /^WORKERS is "0"; expected a whole number from 1 to 128$/],
    [
      "a minimum expiry above the maximum",
      { EXPIRY_SECONDS_MIN: "600", EXPIRY_SECONDS_MAX: "60" },
      /^EXPIRY_SECONDS_MIN is 600; expected at most EXPIRY_SECONDS_MAX, which is 60$/,
    ],
  ];
  for (const [title, environment, line] of refused) {
    test(`rejects ${title}`, () => {
      const lines = linesOf(environment);
      assert.equal(lines.length, 1);
      assert.match(lines[0] ?? "", line);
    });
  }

  test("accepts variables of other programs, such as `PATH`", () => {
    assert.deepEqual(linesOf({ PATH: "/bin", HOME: "/", HOSTNAME: "x", LANG: "C", TERM: "x" }), []);
  });

  test("rejects an invalid secret, without showing it", () => {
    for (const [name, value] of [
      ["DATABASE_URL", "mysql://user:hush@host/database"],
      ["SESSION_SECRET", "hush"],
    ] as const) {
      const [line = ""] = linesOf({ [name]: value });
      assert.match(line, new RegExp(`^${name} is a secret, which is not shown; expected`));
      assert.ok(!line.includes("hush"));
    }
  });

  test("rejects all invalid settings together, with one line for each setting", () => {
    const lines = linesOf({ HOST: "w w", PORT: "x", ROLE: "y", DRAIN_SECONDS: "z" });
    assert.deepEqual(
      lines.map((line) => line.split(" ")[0]),
      ["HOST", "PORT", "ROLE", "DRAIN_SECONDS"],
    );
  });
});

test("by default, the service listens on 127.0.0.1, uses SQLite, and has no secrets", () => {
  const config = readConfig({});
  assert.equal(config.host, "127.0.0.1");
  assert.equal(config.port, 8080);
  assert.equal(config.publicUrl, "http://127.0.0.1:8080");
  assert.equal(config.signup, "closed");
  assert.equal(config.workers, 1);
  assert.equal(config.databaseUrl, undefined);
  assert.equal(config.sessionSecret, undefined);
  assert.equal(config.metricsPort, undefined);
  assert.match(config.chainsFile, /chains\.json$/);
});

test("by default, PUBLIC_URL consists of HOST and PORT in the form that browsers use", () => {
  const urls: [NodeJS.ProcessEnv, string][] = [
    [{ PORT: "80" }, "http://127.0.0.1"],
    [{ PORT: "08080" }, "http://127.0.0.1:8080"],
    [{ HOST: "Pay.Example" }, "http://pay.example:8080"],
    [{ HOST: "0:0:0:0:0:0:0:1" }, "http://[::1]:8080"],
    [{ HOST: "fe80::1%eth0" }, "http://[fe80::1]:8080"],
  ];
  for (const [environment, url] of urls) assert.equal(readConfig(environment).publicUrl, url);
});

test("an empty variable has the same effect as an absent variable", () => {
  assert.deepEqual(readConfig({ PORT: "", DATABASE_URL: "" }), readConfig({}));
});
