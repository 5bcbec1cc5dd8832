// Starts a local chain for tests of launches. The chain has the chain ID of Base Sepolia. The
// chain's only contract is USDC, at the same address as on Base Sepolia. A test can observe the
// calls to the endpoints and change the answers.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Hex } from "executable-address";
import { toQuantity } from "executable-address/status";
import { anvilChain, anvilKeys, startAnvil } from "executable-address-contracts/anvil";
import { createTestClient, http, publicActions, walletActions } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import {
  fiatTokenAbi,
  initializeFiatToken,
  placeFiatToken,
} from "../../../contracts/testing/fiat-token/place.ts";
import { httpEndpoint } from "../../chain/rpc/endpoint.ts";
import { type Answer, type Call, resultOf } from "../../chain/rpc/json-rpc.ts";
import shippedChains from "../../chains.json" with { type: "json" };
import { readConfig } from "../../config.ts";

/**
 * Receives each call before the node does. Returns the node's answer (from `forward`) or a
 * different answer.
 *
 * @param index the index of the endpoint
 */
export type Watch = (call: Call, forward: () => Promise<Answer>, index: number) => Promise<Answer>;

const chainId = 84_532;
/** Base Sepolia in the service's chains.json. USDC is its only token. */
const { name, tokens } = shippedChains.find((each) => each.chainId === chainId)!;
const token = tokens[0]!.address as Hex;
/**
 * The base fee in wei. Blocks do not change this base fee, because the change would be less than
 * one wei.
 */
const baseFee = "7";

export type BareChain = Awaited<ReturnType<typeof startBareChain>>;

const bare = [
  ...["--disable-default-create2-deployer", "--block-base-fee-per-gas", baseFee],
  ...["--chain-id", `${chainId}`],
];

type Shape = {
  /** The chain's hard fork. The contracts require Cancun, and "shanghai" is older. */
  hardfork?: "prague" | "shanghai" | undefined;
  /** The node of each endpoint: the chain's own node, or a second node with the same blocks. */
  nodes?: readonly ("own" | "second")[];
};

/** Starts a chain with USDC but without our contracts. */
export async function startBareChain({ hardfork = "prague", nodes = ["own", "own"] }: Shape = {}) {
  const isAlone = !nodes.includes("second");
  const start = ["--timestamp", `${Math.floor(Date.now() / 1000)}`];
  const args = [...bare, "--hardfork", hardfork, ...start];
  const anvil = await startAnvil({ args });
  const second = isAlone ? undefined : await startFollower(anvil.rpcUrl, args);
  const client = clientOf(anvil.rpcUrl);
  await placeFiatToken(client, token);
  if (second) await placeFiatToken(clientOf(second.rpcUrl), token);
  await initializeFiatToken(client, token);
  const write = async (functionName: "mint" | "transfer", to: Hex, amount: bigint) => {
    const hash = await client.writeContract({
      ...{ address: token, abi: fiatTokenAbi, functionName },
      args: [to, amount],
    });
    await client.waitForTransactionReceipt({ hash });
  };
  await write("mint", client.account.address, 1_000_000n);
  let watch: Watch = (_, forward) => forward();
  const endpoints = await Promise.all(
    nodes.map((node, index) =>
      node === "own"
        ? startEndpoint(anvil.rpcUrl, (call, forward) => watch(call, forward, index))
        : startEndpoint(second!.rpcUrl, async (call, forward) => {
            await second!.follow();
            return watch(call, forward, index);
          }),
    ),
  );
  const directory = mkdtempSync(join(tmpdir(), "launch-"));
  const files = { key: join(directory, "key"), chains: join(directory, "chains.json") };
  const wallet = privateKeyToAccount(anvilKeys[0]);
  writeFileSync(files.key, anvilKeys[0]);
  const rpcUrls = endpoints.map(({ url }) => url);
  const listed = { chainId, name, rpcUrls, explorer: "https://explorer.example", tokens };
  writeFileSync(files.chains, JSON.stringify([listed]));
  const env = { DATA_DIR: join(directory, "data"), CHAINS_FILE: files.chains };
  return {
    ...{ client, token, wallet: wallet.address, env, directory, keyFile: files.key, rpcUrls },
    second,
    config: readConfig(env),
    /** Pays 0.01 USDC to `address`. */
    pay: (address: Hex) => write("transfer", address, 10_000n),
    watch: (next: Watch) => {
      watch = next;
    },
    async stop() {
      for (const { close } of endpoints) close();
      await second?.stop();
      await anvil.stop();
      rmSync(directory, { recursive: true });
    },
  };
}

const clientOf = (rpcUrl: string) =>
  createTestClient({
    account: privateKeyToAccount(anvilKeys[1]),
    chain: { ...anvilChain, id: chainId },
    mode: "anvil",
    transport: http(rpcUrl),
    pollingInterval: 10,
    cacheTime: 0,
  })
    .extend(publicActions)
    .extend(walletActions);

/**
 * Before each request, the second node executes the first node's new blocks, does nothing, or mines
 * empty blocks.
 */
type Following = "follows" | "stands still" | "forks";

/**
 * Starts a node that executes the blocks of another node (the leader). The two nodes have the same
 * block hashes, but each node has its own state.
 */
async function startFollower(leaderUrl: string, args: string[]) {
  const node = await startAnvil({ args: [...args, "--no-mining"] });
  const [leader, follower] = [leaderUrl, node.rpcUrl].map((url) => {
    const endpoint = httpEndpoint("node", url, { timeoutMs: 10_000 });
    return async (method: string, ...params: unknown[]) =>
      resultOf((await endpoint.ask([{ method, params }]))[0], method);
  }) as [Ask, Ask];
  let following: Following = "follows";
  const blockAt = async (ask: Ask, number: number) =>
    (await ask("eth_getBlockByNumber", toQuantity(number), false)) as Replayed | null;
  async function advance() {
    if (following === "stands still") return;
    const head = Number(await leader("eth_blockNumber"));
    let own = Number(await follower("eth_blockNumber"));
    while (following === "follows") {
      const [theirs, ours] = await Promise.all([leader, follower].map((ask) => blockAt(ask, own)));
      if (theirs?.hash === ours!.hash) break;
      await follower("anvil_rollback", 1);
      own--;
    }
    while (own < head) {
      const block = (await blockAt(leader, ++own))!;
      for (const hash of following === "follows" ? block.transactions : []) {
        await follower("eth_sendRawTransaction", await leader("eth_getRawTransactionByHash", hash));
      }
      await follower("anvil_setNextBlockBaseFeePerGas", block.baseFeePerGas);
      await follower("evm_setNextBlockTimestamp", block.timestamp);
      await follower("evm_mine");
    }
  }
  let turn = Promise.resolve();
  return {
    rpcUrl: node.rpcUrl,
    stop: node.stop,
    become: (next: Following) => {
      following = next;
    },
    follow: () => {
      turn = turn.then(advance);
      return turn;
    },
  };
}

type Ask = (method: string, ...params: unknown[]) => Promise<unknown>;
type Replayed = { hash: Hex; transactions: Hex[]; baseFeePerGas: Hex; timestamp: Hex };

async function startEndpoint(
  rpcUrl: string,
  watch: (call: Call, forward: () => Promise<Answer>) => Promise<Answer>,
) {
  const node = httpEndpoint("node", rpcUrl, { timeoutMs: 10_000 });
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const asked = JSON.parse(text) as (Call & { id: number }) | (Call & { id: number })[];
    const answer = async ({ id, ...call }: Call & { id: number }) => {
      const answered = await watch(call, async () => (await node.ask([call]))[0]!);
      return { jsonrpc: "2.0", id, ...answered };
    };
    const answers = Array.isArray(asked)
      ? await Promise.all(asked.map(answer))
      : await answer(asked);
    response.end(JSON.stringify(answers));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
