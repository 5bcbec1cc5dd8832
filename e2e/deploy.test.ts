// Tests that the files in deploy/ match the service: metrics, labels, settings, and files.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { after, before, describe, test } from "node:test";
import { collectDefaultMetrics, type Registry } from "prom-client";
import { countEvents } from "../service/executor/events/metrics.ts";
import { createMetrics } from "../service/http/metrics.ts";
import { startApp, type TestApp } from "../service/testing/app.ts";

const root = resolve(import.meta.dirname, "..");
const read = (name: string) => readFileSync(join(root, "deploy", name), "utf8");

let service: TestApp;
/** The permitted labels of each metric. */
const labelsOf = new Map<string, string[]>();
before(async () => {
  const metrics = createMetrics();
  service = await startApp({ metrics });
  countEvents(metrics.registry);
  collectDefaultMetrics({ register: metrics.registry });
  for (const metric of metrics.registry.getMetricsAsArray() as unknown as Known[])
    labelsOf.set(metric.name, [...(metric.labelNames ?? [])]);
});
after(() => service.close());

type Known = ReturnType<Registry["getMetricsAsArray"]>[number] & { labelNames?: string[] };

/** Labels that Prometheus adds to every time series. */
const added = ["instance", "job", "le"];
const words = new Set(["by", "on", "and", "or", "sum", "min", "max", "rate", "increase", "absent"]);
words.add("histogram_quantile");

/**
 * Returns the faults of a PromQL expression: unknown metrics, and labels that none of the
 * expression's metrics have.
 */
function faultsOf(expression: string): string[] {
  const bare = expression.replaceAll(/"[^"]*"/g, '""');
  const names = [...bare.matchAll(/[a-z][a-z_]*[a-z0-9_]*(?=\s*[{[)>=*/ ]|$)/g)].map(([n]) => n);
  const metrics = names.filter((name) => name.includes("_") && !words.has(name));
  const labels = [...bare.matchAll(/(?:by|on) \(([^)]*)\)|\{([^}]*)\}/g)].flatMap(([, by, match]) =>
    (by ?? match ?? "").split(",").map((part) => part.replace(/[!=~].*/, "").trim()),
  );
  const known = metrics.map((name) => name.replace(/_(bucket|sum|count)$/, ""));
  const allowed = new Set([...added, ...known.flatMap((name) => labelsOf.get(name) ?? [])]);
  return [
    ...(metrics.length === 0 ? [`no metric in ${expression}`] : []),
    ...known.filter((name) => !labelsOf.has(name)),
    ...labels.filter((label) => !allowed.has(label)).map((label) => `${label} in ${expression}`),
  ];
}

describe("the alert rules and the Grafana dashboard", () => {
  test("control: the check finds an unknown metric or label", () => {
    assert.deepEqual(faultsOf("rate(http_answers_total[5m]) > 0"), ["http_answers_total"]);
    const expression = "sum by (color) (executor_leads) < 1";
    assert.deepEqual(faultsOf(expression), [`color in ${expression}`]);
  });

  test("every alert uses existing metrics and is documented", () => {
    const rules = read("alerts.yaml").split("- alert: ").slice(1);
    assert.ok(rules.length >= 12);
    for (const rule of rules) {
      assert.deepEqual(faultsOf(/expr: (.*)/.exec(rule)![1]!), [], rule);
      assert.match(rule, /severity: (page|warn)/);
      assert.match(rule, /summary: "[A-Z{]/);
      const name = rule.split("\n")[0]!;
      const page = readFileSync(join(root, "docs/production.md"), "utf8");
      assert.ok(page.includes(`\`${name}\``), `docs/production.md says what to do at ${name}`);
    }
  });

  // Prometheus's increase() returns 0 if the first sample of a series is 1. Unit tests with
  // promtool showed this.
  test("an alert that counts events also counts the first event", () => {
    const counting = [...read("alerts.yaml").matchAll(/expr: (increase\((\w+).*?\) > 0.*)/g)];
    assert.ok(counting.length >= 5);
    for (const [, expression, name] of counting)
      if (labelsOf.get(name!)!.length > 0)
        assert.match(expression!, new RegExp(`or \\(${name}.* unless ${name}.* offset `));
  });

  test("every panel of the dashboard uses existing metrics", () => {
    const { panels } = JSON.parse(read("grafana.json")) as Dashboard;
    assert.ok(panels.length >= 12);
    for (const { title, targets } of panels)
      for (const { expr } of targets) assert.deepEqual(faultsOf(expr), [], title);
  });
});

type Dashboard = { panels: { title: string; targets: { expr: string }[] }[] };

/** Returns the project's paths that the COPY instructions in `part` name. */
const copiedIn = (part: string) =>
  [...part.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, sources]) => sources!.split(" "));

describe("the image, the compose file, and the systemd unit", () => {
  test("the Dockerfile copies no ignored file", () => {
    const ignored = read("Dockerfile.dockerignore")
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"));
    assert.ok(ignored.includes("e2e"));
    const isIgnored = (source: string) =>
      ignored.some((path) => source === path || source.startsWith(`${path}/`));
    assert.deepEqual(copiedIn(read("Dockerfile")).filter(isIgnored), []);
  });

  test("the image contains every page of the documentation", () => {
    const copied = copiedIn(read("Dockerfile").split("RUN npm run build")[0]!);
    const list = readFileSync(join(root, "web/docs/write.ts"), "utf8");
    const pages = [...list.matchAll(/^ {2}"((?:docs|spec)\/[^"]+)",$/gm)].map(([, path]) => path!);
    assert.ok(pages.length > 20);
    const isCopied = (page: string) =>
      copied.some((source) => {
        const [start, end] = source.split("*");
        return end === undefined
          ? page === source || page.startsWith(`${source}/`)
          : page.startsWith(start!) && page.endsWith(end);
      });
    assert.deepEqual(
      pages.filter((page) => !isCopied(page)),
      [],
    );
  });

  test("the Dockerfile copies only existing files", () => {
    const copied = copiedIn(read("Dockerfile")).filter((source) => !source.includes("*"));
    assert.ok(copied.length > 8);
    for (const source of copied) assert.ok(existsSync(join(root, source)), source);
  });

  // The service imports several folders. The Dockerfile copies only some files of contracts/, but
  // all files of the other folders.
  test("the image contains every file of contracts/ that the service needs", () => {
    const copied = [
      ...read("Dockerfile").matchAll(/^COPY (contracts\/\S+\.ts|contracts\/snap\S+)/gm),
    ];
    const isCopied = (file: string) =>
      copied.some(([, source]) =>
        source === "contracts/*.ts"
          ? dirname(file) === "contracts"
          : file === source || file.startsWith(`${source}/`),
      );
    const seen = new Set(["contracts/index.ts", "contracts/deploy.ts"]);
    for (const file of seen)
      for (const [, path] of readFileSync(join(root, file), "utf8").matchAll(/from "(\.[^"]+)"/g))
        seen.add(join(dirname(file), path!));
    assert.ok(seen.size > 5);
    assert.deepEqual(
      [...seen].filter((file) => !isCopied(file)),
      [],
    );
  });

  test("the deployment sets only environment variables that the service reads", () => {
    const settings = readFileSync(join(root, "service/config.ts"), "utf8");
    const named = [
      ...read("compose.yaml").matchAll(/^ {2,6}([A-Z][A-Z_]+): /gm),
      ...read("executable-address.service").matchAll(/\b([A-Z][A-Z_]+)=/g),
      ...read("Dockerfile").matchAll(/\b([A-Z][A-Z_]+)=\S/g),
    ].map(([, name]) => name!);
    const own = named.filter((name) => !/^(POSTGRES_|NODE_ENV$|BASE$)/.test(name));
    assert.ok(own.includes("DATA_DIR") && own.includes("METRICS_PORT"));
    for (const name of own) assert.ok(settings.includes(`"${name}"`), name);
  });

  test("signals reach the Node process directly", () => {
    assert.match(read("Dockerfile"), /^CMD \["node", "service\/main.ts"\]$/m);
    assert.match(read("executable-address.service"), /^ExecStart=\/\S+\/node service\/main.ts$/m);
  });
});
