// The spelling of addresses as keys of maps. The API uses the checksum spelling instead.

/** Returns the address in lowercase, so that equal addresses are equal texts. */
export const lowerAddress = (address: `0x${string}`): `0x${string}` =>
  `0x${address.slice(2).toLowerCase()}`;
