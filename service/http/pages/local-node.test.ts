import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { anvilChain } from "executable-address-contracts/anvil";
import { findLocalNode } from "./local-node.ts";

const rpcUrl = "http://127.0.0.1:8545";
const local = { chainId: anvilChain.id, wallet: { rpcUrl, coin: "ETH" } };
const publicUrl = "http://127.0.0.1:8080";

describe("findLocalNode", () => {
  test("returns undefined if other machines can reach the service", () => {
    for (const reached of ["https://pay.example", "http://10.0.0.7:8080", "http://0.0.0.0:8080"])
      assert.equal(findLocalNode(local, reached), undefined, reached);
  });

  test("returns undefined for another chain or a node on another machine", () => {
    for (const chainId of [1, 10, 31_336]) {
      assert.equal(findLocalNode({ ...local, chainId }, publicUrl), undefined, `${chainId}`);
    }
    for (const elsewhere of ["https://rpc.example", "http://127.0.0.1.example:8545"]) {
      const chain = { ...local, wallet: { rpcUrl: elsewhere, coin: "ETH" } };
      assert.equal(findLocalNode(chain, publicUrl), undefined, elsewhere);
    }
    assert.equal(findLocalNode({ chainId: local.chainId }, publicUrl), undefined);
  });

  test("returns the node of the local chain on this machine", () => {
    for (const here of [publicUrl, "http://localhost:8080"])
      assert.equal(findLocalNode(local, here), rpcUrl);
  });
});
