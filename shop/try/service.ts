// A simulated service in memory for testing webhook receivers. The service creates addresses, and
// also answers JSON-RPC requests like a node. The service's lists of events and addresses are
// always empty.

import {
  type AddressRecord,
  encodeNewIntent,
  factoryAddress,
  type Hex,
  type Intent,
  InvalidError,
  makeRecord,
} from "executable-address";
import { RpcError } from "executable-address/status";
import type { TryChain } from "./chain.ts";

/** An HTTP request with its body. */
export type TryRequest = { readonly method: string; readonly url: string; readonly body: string };
export type TryAnswer = { readonly status: number; readonly body: unknown };

export type Made = {
  readonly record: AddressRecord;
  readonly reference: string | null;
  /** True if the address was created with the shop page's client ID, which is public. */
  readonly isStrange?: boolean;
};

/** @param onMade called once for each new address */
export function openTryService(chain: TryChain, given: Given, onMade: (order: Made) => void) {
  const records = new Map<string, AddressRecord>();

  function create(body: string, reference: string | null): TryAnswer {
    const { intent } = encodeNewIntent(JSON.parse(body) as Intent);
    const record = makeRecord(intent);
    const key = record.address.toLowerCase();
    if (!records.has(key)) onMade({ record, reference });
    records.set(key, record);
    return { status: 200, body: record };
  }

  async function call(body: string): Promise<TryAnswer> {
    const calls = JSON.parse(body) as Call | Call[];
    const one = async ({ id, method, params }: Call) => {
      try {
        return { jsonrpc: "2.0", id, result: await chain.call(method, params ?? []) };
      } catch (error) {
        const code = error instanceof RpcError ? error.rpcCode : -32603;
        return { jsonrpc: "2.0", id, error: { code, message: String(error) } };
      }
    };
    const answer = Array.isArray(calls) ? await Promise.all(calls.map(one)) : await one(calls);
    return { status: 200, body: answer };
  }

  /** Adds a record that another user of the service created. */
  const know = (record: AddressRecord) => records.set(record.address.toLowerCase(), record);

  async function answer({ method, url, body }: TryRequest): Promise<TryAnswer> {
    const { pathname, searchParams } = new URL(url, "http://try");
    if (pathname === "/rpc") return call(body);
    if (pathname === "/v1/chains") return { status: 200, body: listChains(given) };
    if (pathname === "/v1/events")
      return { status: 200, body: { items: [], next: "0", hasMore: false } };
    if (pathname === "/v1/addresses") return { status: 200, body: { items: [], next: null } };
    try {
      if (method === "POST" && pathname === "/v1/address/create")
        return create(body, searchParams.get("reference"));
    } catch (error) {
      const issues = error instanceof InvalidError ? error.issues : [];
      return refused(400, "invalid_request", issues);
    }
    const record = records.get(pathname.replace("/v1/address/", "").toLowerCase());
    return record ? { status: 200, body: record } : refused(404, "not_found");
  }

  return { answer, know };
}

type Call = { id: unknown; method: string; params?: readonly unknown[] };

/** The only chain and token of this service. */
export type Given = { readonly chainId: number; readonly token: Hex; readonly symbol: string };

const listChains = ({ chainId, token, symbol }: Given) => ({
  factory: factoryAddress,
  chains: [{ chainId, name: "Trial", tokens: [{ symbol, address: token, decimals: 6 }] }],
});

const refused = (status: number, code: string, issues: readonly unknown[] = []): TryAnswer => ({
  status,
  body: { error: { code, message: code, issues } },
});
