// The formats of webhook secrets and public keys: a prefix, and a key in base64.

export const secretPrefix = "whsec_";
export const publicKeyPrefix = "whpk_";
