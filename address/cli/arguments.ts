// Parses a command line: a command, its input, and options. Only --rpc and --token can be repeated.

export class Misuse extends Error {}

const singles = [
  ...["factory", "address", "url", "reference", "tx", "quorum", "confirmations"],
  ...["from", "keystore", "target", "value", "data", "transaction"],
] as const;
const lists = ["rpc", "token"] as const;
const flags = ["dry-run"] as const;

export type Options = {
  readonly one: Readonly<Record<string, string | undefined>>;
  readonly many: Readonly<Record<(typeof lists)[number], readonly string[]>>;
  readonly isDryRun: boolean;
};

/** @throws {Misuse} */
export function parseArguments(args: readonly string[]): { words: string[]; options: Options } {
  const words: string[] = [];
  const one: Record<string, string> = {};
  const many: Record<string, string[]> = { rpc: [], token: [] };
  let isDryRun = false;
  for (let i = 0; i < args.length; i++) {
    const word = args[i]!;
    const name = word.slice(2);
    const isOf = (names: readonly string[]) => names.includes(name);
    if (!word.startsWith("--")) {
      words.push(word);
      continue;
    }
    if (isOf(flags)) {
      isDryRun = true;
      continue;
    }
    if (!isOf(singles) && !isOf(lists)) throw new Misuse(`unknown option: ${word}`);
    const value = args[++i];
    if (value === undefined) throw new Misuse(`${word} needs a value`);
    if (isOf(lists)) many[name]!.push(value);
    else if (one[name] !== undefined) throw new Misuse(`${word} can be given only once`);
    else one[name] = value;
  }
  return { words, options: { one, many: many as unknown as Options["many"], isDryRun } };
}

/** @throws {Misuse} */
export function countOption({ one }: Options, name: "quorum" | "confirmations") {
  const text = one[name];
  if (text === undefined) return undefined;
  if (/^[0-9]{1,6}$/.test(text)) return Number(text);
  throw new Misuse(`--${name}: expected an integer from 0 to 999999, found ${text}`);
}
