// The two credentials of an account and its id: how they are spelled, made and looked up
// (spec §5). Nothing here keeps or logs them.

import { hash, randomBytes } from "node:crypto";

export type CredentialKind = "apiKey" | "clientId";

/** Characters of an API key that are kept for display: `svc_sk_` and 8 of its 64 digits. */
const prefixLength = 15;

const apiKeyPattern = /^svc_sk_[0-9a-f]{64}$/;
const clientIdPattern = /^svc_client_[0-9a-f]{32}$/;

/** `svc_sk_` and 64 lower-case hex digits: 256 random bits. Shown once, never kept. */
export const newApiKey = () => `svc_sk_${randomBytes(32).toString("hex")}`;

/** `svc_client_` and 32 lower-case hex digits. Publishable. */
export const newClientId = () => `svc_client_${randomBytes(16).toString("hex")}`;

/** `acc_` and 24 lower-case hex digits. */
export const newAccountId = () => `acc_${randomBytes(12).toString("hex")}`;

/** Whether `text` is spelled as this service issues them; says nothing about being known. */
export const isApiKey = (text: string) => apiKeyPattern.test(text);
export const isClientId = (text: string) => clientIdPattern.test(text);

/** The part of an API key a dashboard may show. */
export const apiKeyPrefix = (apiKey: string) => apiKey.slice(0, prefixLength);

/**
 * SHA-256 of the credential's text, 32 bytes: what is stored and searched. No salt and no slow
 * hash are needed: there are 2^128 possible credentials at least, all equally likely.
 */
export const digestOf = (credential: string): Buffer => hash("sha256", credential, "buffer");
