// The formats of webhook secrets and public keys: a prefix, and a key in base64. They are not in
// ids.ts, because every client loads that file, and its size limit has no room for them.

export const secretPrefix = "whsec_";
export const publicKeyPrefix = "whpk_";
