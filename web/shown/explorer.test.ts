import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { explorerLink } from "./explorer.ts";

const hash = `0x${"ab".repeat(32)}`;

describe("a link to an explorer", () => {
  test("is none where the server names what is no plain page of the web", () => {
    const wrong: unknown[] = [
      null,
      undefined,
      7,
      "",
      "etherscan.io",
      "javascript:alert(1)//",
      "data:text/html,x",
      "https://etherscan.io/?next=",
      "https://bank.example@evil.example",
    ];
    for (const base of wrong) assert.equal(explorerLink(base, "tx", hash), undefined, `${base}`);
    assert.equal(explorerLink("https://etherscan.io", "tx", "../evil"), undefined);
  });

  test("leads to the transaction or the address, by EIP-3091", () => {
    for (const base of ["https://etherscan.io", "https://etherscan.io/"]) {
      assert.equal(explorerLink(base, "tx", hash), `https://etherscan.io/tx/${hash}`);
    }
    const address = `0x${"12".repeat(20)}`;
    assert.equal(
      explorerLink("http://localhost:4000/blocks", "address", address),
      `http://localhost:4000/blocks/address/${address}`,
    );
  });
});
