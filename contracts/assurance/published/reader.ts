// Renders a call as a signer sees it, with an ERC-7730 descriptor. Supports the formats, paths, and
// rules that the descriptor of PaymentFactory uses. A wallet knows the names of addresses and
// tokens. In this program, the caller passes these names.

import {
  type Abi,
  type AbiFunction,
  type AbiParameter,
  decodeFunctionData,
  formatUnits,
  type Hex,
  parseAbiItem,
  toFunctionSelector,
} from "viem";

type Field = {
  path?: string;
  label?: string;
  format?: string;
  $ref?: string;
  params?: { tokenPath?: string; calleePath?: string };
  visible?: string;
  fields?: Field[];
};

export type Descriptor = {
  context: { contract: { deployments: { chainId: number; address: string }[] } };
  display: {
    definitions: Record<string, Field>;
    formats: Record<string, { intent: string; fields: Field[] }>;
  };
};

export type Wallet = {
  descriptor: Descriptor;
  /** Names that the wallet trusts, by lowercase address. */
  names: Record<string, string>;
  tokens: Record<string, { ticker: string; decimals: number }>;
  chains: Record<string, string>;
};

type Values = { [name: string]: unknown };

/** Parses a key of `formats`, which is the signature of a function. */
export const functionOf = (key: string) => parseAbiItem(`function ${key}`) as AbiFunction;

/** Returns the lines that a signer reads for a call of `to` with `data`. */
export function read(wallet: Wallet, to: Hex, data: Hex): string[] {
  const known = wallet.descriptor.context.contract.deployments.some(
    ({ address }) => address.toLowerCase() === to.toLowerCase(),
  );
  const formats = known ? Object.entries(wallet.descriptor.display.formats) : [];
  const format = formats.find(([key]) => data.startsWith(toFunctionSelector(functionOf(key))));
  if (!format) return [`${nameOf(wallet, to)}: ${data}`];
  const abi: Abi = [functionOf(format[0])];
  const { args } = decodeFunctionData({ abi, data });
  const inputs = (abi[0] as AbiFunction).inputs as readonly AbiParameter[];
  const values: Values = Object.fromEntries(inputs.map(({ name }, i) => [name!, args![i]]));
  values["@"] = { to };
  const lines = format[1].fields.flatMap((field) => linesOf(wallet, field, values, values));
  return [format[1].intent, ...lines.map((line) => `  ${line}`)];
}

function linesOf(wallet: Wallet, given: Field, here: Values, top: Values): string[] {
  const defined = given.$ref?.replace("$.display.definitions.", "");
  const field = defined ? { ...wallet.descriptor.display.definitions[defined]!, ...given } : given;
  const found = follow(here, field.path!);
  if (field.fields) {
    const items = found as Values[];
    const lines = items.flatMap((item) =>
      field.fields!.flatMap((inner) => linesOf(wallet, inner, item, top)),
    );
    return [`${field.label}:`, ...lines.map((line) => `  ${line}`)];
  }
  if (field.visible === "never") return [];
  const values = Array.isArray(found) && field.path!.endsWith(".[]") ? found : [found];
  return values.flatMap((value) => {
    if (field.format !== "calldata") return `${field.label}: ${show(wallet, field, value, top)}`;
    const inner = read(wallet, follow(top, field.params!.calleePath!) as Hex, value as Hex);
    return [`${field.label}:`, ...inner.map((line) => `  ${line}`)];
  });
}

/** Returns the values at a path such as `a.b.[].c`. A part `[]` selects all values of an array. */
function follow(from: unknown, path: string): unknown {
  const [part, ...rest] = path.split(".");
  if (part === undefined || part === "") return from;
  if (part === "[]") {
    const items = from as unknown[];
    return rest.length === 0 ? items : items.map((item) => follow(item, rest.join(".")));
  }
  return follow((from as Values)[part], rest.join("."));
}

const nameOf = ({ names }: Wallet, address: string) => names[address.toLowerCase()] ?? address;

function show(wallet: Wallet, field: Field, value: unknown, top: Values): string {
  switch (field.format) {
    case "raw":
      return String(value);
    case "addressName":
      return nameOf(wallet, String(value));
    case "amount":
      return `${formatUnits(value as bigint, 18)} ETH`;
    case "date":
      return new Date(Number(value) * 1000).toISOString();
    case "chainId":
      return wallet.chains[String(value)] ?? String(value);
    case "tokenAmount": {
      const address = String(follow(top, field.params!.tokenPath!));
      const token = wallet.tokens[address.toLowerCase()];
      if (!token) return `${value} of ${address}`;
      return `${token.ticker} ${formatUnits(value as bigint, token.decimals)}`;
    }
    default:
      throw new Error(`no format ${field.format}`);
  }
}
