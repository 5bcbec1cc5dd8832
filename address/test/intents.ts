// Generates random intents, together with viem's input for the same intents. The generator does not
// use the library, so that tests can find the library's faults.

import fc from "fast-check";
import { type AbiParameter, getAddress } from "viem";
import type { Hex, Intent } from "../intent/intent.ts";

/** A parameter's type and value, both in the format of an intent and in viem's format. */
type Drawn = { spelled: string; type: string; components?: AbiParameter[]; value: Both };
type Both = { text: Nested; plain: unknown };
type Nested = string | Nested[];

export type DrawnCall = {
  target: Hex;
  name: string;
  parameters: AbiParameter[];
  values: unknown[];
};
export type DrawnIntent = { intent: Intent; calls: DrawnCall[] };

const countBytes = (min: number, max: number) =>
  fc
    .uint8Array({ minLength: min, maxLength: max })
    .map((bytes) => `0x${Buffer.from(bytes).toString("hex")}` as Hex);

const anyAddress = countBytes(20, 20).map((hex) => getAddress(hex));
const ownAddress = anyAddress.filter((address) => BigInt(address) > 0xffffn);

const leaf = (type: string, values: fc.Arbitrary<Both>): fc.Arbitrary<Drawn> =>
  values.map((value) => ({ spelled: type, type, value }));

const same = <T extends string>(values: fc.Arbitrary<T>): fc.Arbitrary<Both> =>
  values.map((text) => ({ text, plain: text }));

const integer = (bits: number, signed: boolean): fc.Arbitrary<Both> => {
  const size = 1n << BigInt(signed ? bits - 1 : bits);
  const range = { min: signed ? -size : 0n, max: size - 1n };
  // viem uses numbers for integers of up to 48 bits, and bigints for larger integers.
  return fc
    .oneof(fc.bigInt(range), fc.constantFrom(range.min, range.max, 0n, 1n))
    .map((value) => ({ text: String(value), plain: bits <= 48 ? Number(value) : value }));
};

const unicode = fc.string({ unit: "binary", maxLength: 40 });

const elementary: fc.Arbitrary<Drawn> = fc.oneof(
  fc.integer({ min: 1, max: 32 }).chain((n) => leaf(`uint${8 * n}`, integer(8 * n, false))),
  fc.integer({ min: 1, max: 32 }).chain((n) => leaf(`int${8 * n}`, integer(8 * n, true))),
  fc.integer({ min: 1, max: 32 }).chain((n) => leaf(`bytes${n}`, same(countBytes(n, n)))),
  leaf("address", same(anyAddress)),
  leaf(
    "bool",
    fc.boolean().map((plain) => ({ text: String(plain), plain })),
  ),
  leaf("bytes", same(countBytes(0, 70))),
  leaf("string", same(unicode)),
);

const drawn: fc.Arbitrary<Drawn> = fc.letrec<{ any: Drawn }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3, depthIdentifier: "type" },
    { weight: 5, arbitrary: elementary },
    { weight: 2, arbitrary: tie("any").chain(list) },
    {
      weight: 2,
      arbitrary: fc.array(tie("any"), { minLength: 1, maxLength: 3 }).map(tuple),
    },
  ),
})).any;

/** Returns a list that repeats one value. */
function list(element: Drawn): fc.Arbitrary<Drawn> {
  return fc.tuple(fc.integer({ min: 0, max: 3 }), fc.boolean()).map(([count, open]) => {
    const length = open ? count : count + 1;
    const suffix = open ? "[]" : `[${length}]`;
    const { spelled, type, components, value } = element;
    const values = {
      text: Array(length).fill(value.text),
      plain: Array(length).fill(value.plain),
    };
    const shape = { spelled: spelled + suffix, type: type + suffix, value: values };
    return components ? { ...shape, components } : shape;
  });
}

function tuple(members: Drawn[]): Drawn {
  const named = members.map((member, i) => `${member.spelled} m${i}`);
  return {
    spelled: `(${named.join(", ")})`,
    type: "tuple",
    components: members.map((member, i) => parameter(member, `m${i}`)),
    value: {
      text: members.map(({ value }) => value.text),
      plain: Object.fromEntries(members.map(({ value }, i) => [`m${i}`, value.plain])),
    },
  };
}

function parameter({ type, components }: Drawn, name: string): AbiParameter {
  return (components ? { type, name, components } : { type, name }) as AbiParameter;
}

const name = fc.stringMatching(/^[A-Za-z_$][A-Za-z0-9_$]{0,11}$/).map((text) => `f_${text}`);

const call = fc
  .record({ target: ownAddress, name, members: fc.array(drawn, { maxLength: 4 }) })
  .map(({ target, name, members }) => ({
    call: {
      target,
      function: `${name}(${members.map(({ spelled }, i) => `${spelled} p${i}`).join(", ")})`,
      args: members.map(({ value: { text } }) =>
        typeof text === "string" ? text : JSON.stringify(text),
      ),
    },
    drawn: {
      target,
      name,
      parameters: members.map((member, i) => parameter(member, `p${i}`)),
      values: members.map(({ value }) => value.plain),
    },
  }));

/**
 * Generates intents that the library accepts, with parameters of every type, nested up to three
 * levels.
 */
export const intents: fc.Arbitrary<DrawnIntent> = fc
  .record({
    token: ownAddress,
    amount: fc.bigInt({ min: 1n, max: (1n << 256n) - 1n }).map(String),
    calls: fc.array(call, { minLength: 1, maxLength: 4 }),
    expirationTimestamp: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
    recovery: ownAddress,
    salt: countBytes(32, 32),
    chainId: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  })
  .filter(({ token, recovery }) => token !== recovery)
  .map((fields) => ({
    intent: { ...fields, calls: fields.calls.map(({ call }) => call) },
    calls: fields.calls.map(({ drawn }) => drawn),
  }));
