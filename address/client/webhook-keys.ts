// The formats of webhook secrets and public keys: a prefix, and a key in base64. Every client loads
// ids.ts, and the client's size limit leaves no room for these formats in ids.ts.

export const secretPrefix = "whsec_";
export const publicKeyPrefix = "whpk_";
