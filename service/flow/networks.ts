// Finds the network of a client. A client can use many addresses of its network, so limits count
// networks instead of addresses.

import ipaddr from "ipaddr.js";

/**
 * Returns the whole IPv4 address, or the /64 of an IPv6 address. Internet providers usually assign
 * one /64 to a customer.
 */
export const networkOf = (ip: string): string => prefixOf(ip, { v4: 4, v6: 4 });

/**
 * Returns the /24 of an IPv4 address, or the /48 of an IPv6 address. A site or a small provider
 * usually has one network of this size.
 */
export const wideNetworkOf = (ip: string): string => prefixOf(ip, { v4: 3, v6: 3 });

/** @param kept how many bytes (IPv4) or 16-bit groups (IPv6) of the address to keep */
function prefixOf(text: string, kept: { v4: number; v6: number }): string {
  if (!ipaddr.isValid(text)) return text;
  const ip = ipaddr.process(text);
  if (ip instanceof ipaddr.IPv4) return ip.octets.slice(0, kept.v4).join(".");
  const groups = ip.parts.slice(0, kept.v6).map((group) => group.toString(16));
  return `${groups.join(":")}::/${16 * kept.v6}`;
}
