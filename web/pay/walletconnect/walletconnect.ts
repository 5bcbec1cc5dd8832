// A wallet reached over WalletConnect, asked as EIP-1193 has it. The wallet answers for its
// accounts and signs; what any node knows is asked of the chain's public endpoint.
//
// sign-client 2.21.8 is the last under an open licence (Apache-2.0); later ones bind whoever serves
// them to terms that a server under MIT cannot pass on.

import { SignClient } from "@walletconnect/sign-client";
import { rejectedCode, type WalletProvider } from "executable-address/page";

type Asked = Parameters<WalletProvider["request"]>[0];

/** The link that the wallet is to scan or open, while it is asked to connect. */
export type Pairing = { uri: string; cancel: () => void };

type Asking = {
  chainId: number;
  /** Answers what is no question to the wallet itself. */
  rpcUrl: string;
  show: (pairing: Pairing | undefined) => void;
};

type ProviderOptions = Asking & { projectId: string; relayUrl: string };

type Client = Awaited<ReturnType<typeof SignClient.init>>;
type Session = ReturnType<Client["session"]["get"]>;

export async function openProvider({ projectId, relayUrl, ...options }: ProviderOptions) {
  const { origin } = window.location;
  const client = await SignClient.init({
    projectId,
    relayUrl,
    telemetryEnabled: false,
    logger: "silent",
    metadata: {
      name: document.title,
      description: "Pays an address that was checked in your browser",
      url: origin,
      icons: [`${origin}/mark.svg`],
    },
  });
  return providerOf(client, options);
}

export function providerOf(client: Client, { chainId, rpcUrl, show }: Asking): WalletProvider {
  const chain = `eip155:${chainId}`;

  /** The client keeps what the wallet says later: other accounts, or that a session ended. */
  const findSession = () =>
    client.session.getAll().findLast((held) => {
      const isAlive = held.expiry * 1000 > Date.now();
      return isAlive && accountsOf(held, chain).length > 0;
    });

  const accounts = async () =>
    accountsOf(findSession() ?? (await connect(client, chain, show)), chain);

  const send = async ({ method, params = [] }: Asked) => {
    const topic = findSession()?.topic;
    if (!topic) throw Object.assign(new Error("the wallet has left"), { code: rejectedCode });
    return client.request({ topic, chainId: chain, request: { method, params } });
  };

  return {
    async request(asked: Asked): Promise<unknown> {
      switch (asked.method) {
        case "eth_requestAccounts":
          return accounts().catch(refuse);
        case "eth_chainId":
          return `0x${chainId.toString(16)}`;
        case "eth_sendTransaction":
          return send(asked).catch(refuse);
        default:
          return ask(rpcUrl, asked);
      }
    },
  };
}

/** Takes those on `chain` of `eip155:1:0x…`. A wallet that is not there gives none. */
const accountsOf = ({ namespaces }: Session, chain: string): string[] =>
  (namespaces.eip155?.accounts ?? [])
    .filter((account) => account.startsWith(`${chain}:`))
    .map((account) => account.slice(chain.length + 1));

async function connect(client: Client, chain: string, show: Asking["show"]): Promise<Session> {
  const methods = ["eth_sendTransaction"];
  const { uri, approval } = await client.connect({
    optionalNamespaces: { eip155: { chains: [chain], methods, events: [] } },
  });
  const cancelled = new Promise<never>((_, reject) => {
    const cancel = () => reject(Object.assign(new Error("cancelled"), { code: rejectedCode }));
    if (uri) show({ uri, cancel });
  });
  try {
    return await Promise.race([approval(), cancelled]);
  } finally {
    show(undefined);
  }
}

/** WalletConnect's own codes for a person who declined: 5000 to 5003. */
function refuse(error: { code?: number; message?: string }): never {
  const { code = 0, message = "no answer" } = error;
  const isDeclined = code === rejectedCode || (code >= 5000 && code <= 5003);
  throw Object.assign(new Error(message), { code: isDeclined ? rejectedCode : code });
}

async function ask(rpcUrl: string, { method, params = [] }: Asked): Promise<unknown> {
  const answer = await fetch(rpcUrl, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const { result, error } = await answer.json();
  if (error) throw Object.assign(new Error(error.message), { code: error.code, data: error.data });
  return result;
}
