// The first look at an intent from outside: is it an object with these fields, of these kinds? Each
// field is read once and only if it is the object's own, so neither getters nor prototypes matter
// later.

import { type Faults, kindOf, refuse } from "./errors.ts";

/** Fields as found: what is missing or of the wrong kind is undefined, and a fault. */
export type RawIntent = {
  token: unknown;
  amount: unknown;
  calls: (RawCall | undefined)[] | undefined;
  expirationTimestamp: unknown;
  recovery: unknown;
  salt: unknown;
  chainId: unknown;
};
export type RawCall = {
  target: unknown;
  function: string | undefined;
  args: (string | undefined)[] | undefined;
};

export const callsMax = 32;

/** No function whose arguments fit has more parameters. */
const argsMax = 768;

const intentFields = [
  "token",
  "amount",
  "calls",
  "expirationTimestamp",
  "recovery",
  "salt",
  "chainId",
] as const;
const callFields = ["target", "function", "args"] as const;

/** @param salt stands in where the intent has none */
export function readFields(
  faults: Faults,
  value: unknown,
  salt?: () => string,
): RawIntent | undefined {
  const drawn = salt ? { salt } : {};
  const fields = ownFields(faults, value, intentFields, drawn);
  return (
    fields && { ...fields, calls: readList(faults, "calls", fields.calls, callsMax, readCall) }
  );
}

function readCall(faults: Faults, value: unknown): RawCall | undefined {
  const fields = ownFields(faults, value, callFields, {});
  return (
    fields && {
      target: fields.target,
      function: readString(faults, fields.function, "function"),
      args: readList(faults, "args", fields.args, argsMax, readString),
    }
  );
}

function readString(faults: Faults, value: unknown, ...deeper: string[]): string | undefined {
  if (typeof value === "string") return value;
  if (value === undefined && deeper.length > 0) return undefined;
  const plain = typeof value === "number" || typeof value === "boolean";
  const instead = plain ? `: write "${value}"` : "";
  refuse(faults, "wrong_type", `expected a string, found ${kindOf(value)}${instead}`, ...deeper);
  return undefined;
}

/** The own fields `names` of `value`; says what is missing and what nobody asked for. */
function ownFields<Name extends string>(
  faults: Faults,
  value: unknown,
  names: readonly Name[],
  defaults: { [name in Name]?: () => unknown },
): Record<Name, unknown> | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    refuse(faults, "wrong_type", `expected an object, found ${kindOf(value)}`);
    return undefined;
  }
  const fields = {} as Record<Name, unknown>;
  for (const name of names) {
    const own = Object.hasOwn(value, name) ? (value as Record<Name, unknown>)[name] : undefined;
    fields[name] = own === undefined ? defaults[name]?.() : own;
    if (fields[name] === undefined) refuse(faults, "missing", `${name} is required`, name);
  }
  for (const key of Object.keys(value))
    if (!(names as readonly string[]).includes(key)) refuseUnknown(faults, key, names);
  return fields;
}

function refuseUnknown(faults: Faults, key: string, names: readonly string[]): void {
  const meant = names.find((name) => plainName(name) === plainName(key.slice(0, 64)));
  const hint = meant ? `: write ${meant}` : `; the fields are ${names.join(", ")}`;
  const path = /^[A-Za-z0-9_$-]{1,64}$/.test(key) ? [key] : [];
  refuse(faults, "unknown_field", `no such field${hint}`, ...path);
}

const plainName = (name: string): string => name.replace(/[^A-Za-z]/g, "").toLowerCase();

function readList<T>(
  faults: Faults,
  name: string,
  value: unknown,
  lengthMax: number,
  read: (faults: Faults, item: unknown) => T,
): T[] | undefined {
  if (value === undefined) return undefined;
  faults.path.push(name);
  let items: T[] | undefined;
  if (!Array.isArray(value)) {
    refuse(faults, "wrong_type", `expected an array, found ${kindOf(value)}`);
  } else if (value.length > lengthMax) {
    refuse(faults, "too_many", `expected at most ${lengthMax} ${name}, found ${value.length}`);
  } else {
    items = [];
    for (let i = 0; i < value.length; i++) {
      faults.path.push(i);
      items.push(read(faults, value[i]));
      faults.path.pop();
    }
  }
  faults.path.pop();
  return items;
}
