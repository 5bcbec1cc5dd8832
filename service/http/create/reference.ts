// The reference that a create names its address by: what the query may say, the salt that it makes,
// and the refusals that keep one reference to one address. spec/service.md §4.1.

import { timingSafeEqual } from "node:crypto";
import { deriveAddress, formatAddress } from "executable-address";
import { parseReference, saltFor, signatureFor } from "executable-address/reference";
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { findReferenceKeys } from "../../accounts/reference-keys.ts";
import { findHolder, findReferences, referenceWriter } from "../../events/references.ts";
import { isOwned } from "../../store/owned.ts";
import { Refusal } from "../errors.ts";
import { parseQuery } from "../input/schema.ts";
import type { Parts } from "../parts.ts";
import { parseNewIntent } from "./new-intent.ts";

/** An account creates the address, and may call it something. */
export type Creator = {
  accountId: string;
  isClientId: boolean;
  /** A bound client ID: what it creates is signed. */
  isBound: boolean;
  signature: string | undefined;
  reference: string | undefined;
  /** The reference of another address is meant to be used once more. */
  isAgain: boolean;
};
type NewIntent = ReturnType<typeof parseNewIntent>;

const input = z.strictObject({
  reference: z.string().max(300).optional(),
  again: z.literal("true").optional(),
  signature: z
    .string()
    .regex(/^0x[0-9a-f]{64}$/, "expected 0x and 64 lower-case hex digits, as signatureFor gives")
    .optional(),
});

/** Reads a create's query. @throws {InvalidError} on any other field */
export function referenceOf(
  request: FastifyRequest,
): Pick<Creator, "reference" | "isAgain" | "signature"> {
  const { reference, again, signature } = parseQuery(input, request);
  return {
    signature,
    reference: reference === undefined ? undefined : parseReference(reference),
    isAgain: again !== undefined,
  };
}

/** Called once: creates that arrive together share a commit of their references. */
export function openReferences(parts: Parts) {
  const write = referenceWriter(parts.store);
  return (by: Creator) => openReference(by, parts, write);
}

/** The reference of one create, if it has one. What the account has of it is read once. */
function openReference(by: Creator, parts: Parts, write: ReturnType<typeof referenceWriter>) {
  const { accountId, isClientId, isAgain, reference } = by;
  const { db } = parts.store;
  let keys: ReturnType<typeof findReferenceKeys> | undefined;
  let holder: ReturnType<typeof findHolder> | undefined;
  const readKeys = () => (keys ??= findReferenceKeys(db, accountId, parts.now()));
  const readHolder = (reference: string) =>
    (holder ??= findHolder(db, { accountId, reference, isClientId }));
  const derive = ({ terms }: NewIntent) => deriveAddress(terms, parts);

  return {
    /**
     * The intent of `body`. If a server sends a reference and no salt, the account's key makes the
     * salt; for an address made before a rotation, it is the key of that time.
     */
    async parse(body: unknown): Promise<NewIntent> {
      if (reference === undefined || isClientId || isAgain || !needsSalt(body))
        return parseNewIntent(body, parts);
      const [newest, ...older] = (await readKeys()).map((key) => () => {
        const salt = saltFor(reference, key);
        return parseNewIntent({ ...body, salt }, parts);
      }) as [() => NewIntent, ...(() => NewIntent)[]];
      const intent = newest();
      const holder = older.length > 0 ? await readHolder(reference) : undefined;
      if (!holder || holder.equals(derive(intent))) return intent;
      return older.map((make) => make()).find((made) => holder.equals(derive(made))) ?? intent;
    },

    /**
     * The address commits to every byte of the intent, so a signature of it is one of token, payee,
     * amount and expiry. The newest key alone signs: a rotation ends what a leaked one allowed.
     *
     * @throws {Refusal} 403 `not_signed`
     */
    async assertSigned(address: Uint8Array): Promise<void> {
      if (by.signature === undefined && !by.isBound) return;
      const [key] = await readKeys();
      const wanted = signatureFor(formatAddress(address, parts.keccak), key, reference);
      const signature = Buffer.from(by.signature ?? noSignature);
      if (!timingSafeEqual(Buffer.from(wanted), signature)) throw notSigned(by);
    },

    /** Call it before anything is kept. @throws {Refusal} 409 `reference_in_use` */
    async assertFree(address: Uint8Array): Promise<void> {
      if (reference === undefined) return;
      const holder = isAgain ? undefined : await readHolder(reference);
      if (holder && !holder.equals(address)) throw inUse(holder, parts.keccak);
      if (!isClientId || !(await isOwned(db, accountId, address))) return;
      const held = await findReferences(db, accountId, [address]);
      if (held.get(Buffer.from(address).toString("hex")) !== reference) throw notYours();
    },

    /** Resolves when the reference is durable. @throws {Refusal} 409 `reference_in_use` */
    async keep(address: Uint8Array): Promise<void> {
      if (reference === undefined) return;
      const referred = await write({ accountId, address, reference, isClientId, isAgain });
      if (referred === "not_yours") throw notYours();
      if (referred !== "kept") throw inUse(referred.in_use, parts.keccak);
    },
  };
}

const noSignature = `0x${"0".repeat(64)}`;

const notSigned = ({ signature, reference }: Creator) =>
  new Refusal(
    "not_signed",
    signature === undefined
      ? "this client ID is bound: it creates what the account's server signed, by &signature="
      : "the signature is not by the newest reference key of this very address and " +
          (reference === undefined ? "no reference" : "reference"),
  );

function inUse(address: Buffer, keccak: Parts["keccak"]) {
  const held = formatAddress(address, keccak);
  const message = `the account calls ${held} so: look it up, or say again=true`;
  const issues = [{ path: ["reference"], code: "reference_in_use", message: held }];
  return new Refusal("reference_in_use", message, { issues });
}

const notYours = () =>
  new Refusal(
    "reference_in_use",
    "this address exists, and a client ID is public, so it names only addresses that it makes",
  );

const needsSalt = (body: unknown): body is object =>
  typeof body === "object" &&
  body !== null &&
  !Array.isArray(body) &&
  (body as { salt?: unknown }).salt === undefined;
