#!/usr/bin/env node
// The program `executable-address-shop`, which runs the command `try-receiver`.

import { parseArgs } from "node:util";
import { tryReceiver } from "./try-receiver.ts";

const usage = `usage: executable-address-shop try-receiver URL [options]

Tests a webhook receiver: sends events to it (valid, forged, repeated, and reorganized), and checks
its reactions. On 127.0.0.1, the command acts as both the service and a node of the chain.

Options
  --port P    Port of the service and the node (default: 8790)
  --order U   URL at which the receiver's shop accepts an order (POST)
  --form F    Form data to post to that URL
  --goods U   URL that returns the number of goods delivered for {address}

Prints the score as JSON to stdout, and each check to stderr.

Exit status: 0 if every check passed, 1 if a check failed, 2 if used incorrectly.
`;

const options = {
  order: { type: "string" },
  form: { type: "string" },
  goods: { type: "string" },
  port: { type: "string" },
  help: { type: "boolean", short: "h" },
} as const;

class Misuse extends Error {}

/** @returns the exit status */
async function run(args: readonly string[]): Promise<number> {
  try {
    const { values, positionals } = parse(args);
    if (values.help) {
      process.stdout.write(usage);
      return 0;
    }
    const [command, url, ...rest] = positionals;
    if (command !== "try-receiver")
      throw new Misuse(`expected the command try-receiver, found ${command ?? "nothing"}`);
    if (rest.length > 0) throw new Misuse(`expected one URL, found ${rest.length + 1}`);
    const { order, form = "", goods } = values;
    const where = { url: parseUrl(url), port: parsePort(values.port) };
    const say = (line: string) => process.stderr.write(`${line}\n`);
    const score = await tryReceiver({ ...where, order, form, goods, say });
    const percent = Math.round((100 * score.passed) / score.tried);
    process.stdout.write(`${JSON.stringify({ ...score, percent }, null, 2)}\n`);
    if (score.passed === score.tried) return 0;
    say(`${score.tried - score.passed} of ${score.tried} failed`);
    return 1;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    if (error instanceof Misuse) process.stderr.write(`\n${usage}`);
    return error instanceof Misuse ? 2 : 1;
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    throw new Misuse((error as Error).message);
  }
}

function parseUrl(given = ""): string {
  if (/^https?:/.test(given) && URL.canParse(given)) return given;
  throw new Misuse(`expected the http or https URL of the receiver, found "${given}"`);
}

function parsePort(given = "8790"): number {
  if (/^[1-9][0-9]{0,4}$/.test(given) && Number(given) < 65_536) return Number(given);
  throw new Misuse(`--port: expected a port from 1 to 65535, found ${given}`);
}

process.exitCode = await run(process.argv.slice(2));
