// Finds the network of a client's IP address. Rate limits are per network, because a client can use
// many IP addresses of its network.

import ipaddr from "ipaddr.js";

/**
 * Returns an IPv4 address unchanged, and the /64 network of an IPv6 address. Internet providers
 * usually assign a /64 network to a customer.
 */
export const networkOf = (ip: string): string => prefixOf(ip, { v4: 4, v6: 4 });

/**
 * Returns the /24 network of an IPv4 address, or the /48 network of an IPv6 address. A site or a
 * small provider usually has one network of this size.
 */
export const wideNetworkOf = (ip: string): string => prefixOf(ip, { v4: 3, v6: 3 });

/** @param kept how many bytes (IPv4) or 16-bit groups (IPv6) to keep */
function prefixOf(text: string, kept: { v4: number; v6: number }): string {
  if (!ipaddr.isValid(text)) return text;
  const ip = ipaddr.process(text);
  if (ip instanceof ipaddr.IPv4) return ip.octets.slice(0, kept.v4).join(".");
  const groups = ip.parts.slice(0, kept.v6).map((group) => group.toString(16));
  return `${groups.join(":")}::/${16 * kept.v6}`;
}
