// A wallet on another device: what it is asked over WalletConnect is asked of `request`, as of a
// wallet of the browser.

import { randomUUID } from "node:crypto";
import { SignClient } from "@walletconnect/sign-client";

/** As EIP-1193's `request`. @throws an error with its code */
type Request = (asked: { method: string; params?: readonly unknown[] }) => Promise<unknown>;

export const projectId = "0123456789abcdef0123456789abcdef";

/** One end of WalletConnect, with a name of its own: two of one name in a process are one. */
export async function openEnd(relayUrl: string) {
  const client = await SignClient.init({
    ...{ projectId, relayUrl, telemetryEnabled: false, logger: "silent" },
    metadata: { name: "End", description: "", url: "https://end.example", icons: [] },
    storageOptions: { database: ":memory:" },
    customStoragePrefix: randomUUID(),
  });
  const { relayer, heartbeat } = client.core;
  // What is unanswered as it closes would keep the process for a minute.
  const unanswered = new Set<Promise<unknown>>();
  const request = relayer.request.bind(relayer);
  relayer.request = (asked) => {
    const answer = request(asked);
    unanswered.add(answer);
    const settle = () => unanswered.delete(answer);
    answer.then(settle, settle);
    return answer;
  };
  const close = async () => {
    while (unanswered.size > 0) await Promise.allSettled(unanswered);
    await relayer.transportClose();
    heartbeat.stop();
  };
  return { client, close };
}

/** @param chain as CAIP-2 has it, `eip155:1`: the wallet has its accounts there */
export async function openPhone(relayUrl: string, chain: string, request: Request) {
  const { client, close } = await openEnd(relayUrl);
  // A server on the Internet would be asked who the page is, and waited for.
  client.core.verify.resolve = async () => undefined as never;

  const namespaces = async () => {
    const accounts = (await request({ method: "eth_requestAccounts" })) as string[];
    const named = accounts.map((account) => `${chain}:${account}`);
    return { eip155: { accounts: named, methods: ["eth_sendTransaction"], events: [] } };
  };
  client.on("session_proposal", ({ id }) => {
    void namespaces().then(
      (found) => client.approve({ id, namespaces: found }),
      (error) => client.reject({ id, reason: reasonOf(error) }),
    );
  });
  client.on("session_request", async ({ topic, id, params: { request: asked } }) => {
    const answer = await request(asked).then(
      (result) => ({ result }),
      (error) => ({ error: reasonOf(error) }),
    );
    await client.respond({ topic, response: { id, jsonrpc: "2.0", ...answer } });
  });

  return {
    pair: (uri: string) => client.pair({ uri }),
    /** Its person has chosen other accounts for the page. */
    async tellAccounts() {
      for (const { topic } of client.session.getAll()) {
        const told = await client.update({ topic, namespaces: await namespaces() });
        await told.acknowledged();
      }
    },
    /** Its person has ended what the page had. */
    async leave() {
      const reason = { code: 6000, message: "User disconnected." };
      for (const { topic } of client.session.getAll()) await client.disconnect({ topic, reason });
    },
    close,
  };
}

/** WalletConnect has a code of its own for a person who declined. */
const reasonOf = ({ code, message }: { code: number; message: string }) => ({
  code: code === 4001 ? 5000 : code,
  message,
});
