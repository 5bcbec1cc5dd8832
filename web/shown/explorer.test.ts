import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { explorerLink } from "./explorer.ts";

const hash = `0x${"ab".repeat(32)}`;

describe("links to a block explorer", () => {
  test("explorerLink returns undefined for an unsafe URL", () => {
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

  test("explorerLink returns the page of a transaction or an address", () => {
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
