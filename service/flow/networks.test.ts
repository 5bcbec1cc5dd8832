import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { networkOf, wideNetworkOf } from "./networks.ts";

describe("networkOf and wideNetworkOf", () => {
  const networks: [ip: string, network: string, wide: string][] = [
    ["192.0.2.1", "192.0.2.1", "192.0.2"],
    ["::ffff:192.0.2.1", "192.0.2.1", "192.0.2"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", "2001:db8:1::/48"],
    ["2001:DB8:1:2::6", "2001:db8:1:2::/64", "2001:db8:1::/48"],
    ["2001:db8::6", "2001:db8:0:0::/64", "2001:db8:0::/48"],
    ["::1", "0:0:0:0::/64", "0:0:0::/48"],
  ];
  for (const [ip, network, wide] of networks) {
    test(`return ${network} and ${wide} for ${ip}`, () => {
      assert.equal(networkOf(ip), network);
      assert.equal(wideNetworkOf(ip), wide);
    });
  }
});
