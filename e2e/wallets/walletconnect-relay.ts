// A relay of WalletConnect for tests, on a loopback port: it keeps what is published for a topic
// and gives it to whoever subscribes. What passes through is encrypted for the two ends alone.

import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";

type Call = { id: number; method: string; params: Record<string, unknown> };
type Published = { topic: string; topics: string[]; message: string; tag: number };
type Message = { topic: string; message: string; publishedAt: number; tag: number };

export async function startRelay(): Promise<{ url: string; methods: string[]; close: () => void }> {
  const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  await new Promise<void>((listening) => server.once("listening", listening));
  const board = openBoard();
  const methods: string[] = [];

  server.on("connection", (socket) => {
    socket.on("message", (text) => {
      const call: Call = JSON.parse(String(text));
      if (!call.method) return;
      methods.push(call.method);
      const reply = { id: call.id, jsonrpc: "2.0" };
      try {
        socket.send(JSON.stringify({ ...reply, result: answer(socket, call, board) }));
      } catch (error) {
        socket.send(JSON.stringify({ ...reply, error: { code: -32601, message: `${error}` } }));
      }
    });
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `ws://127.0.0.1:${port}`,
    methods,
    close: () => {
      for (const client of server.clients) client.terminate();
      server.close();
    },
  };
}

type Board = ReturnType<typeof openBoard>;

/** Keeps who listens to which topic, and what waits for a listener. */
function openBoard() {
  const subscribers = new Map<string, Set<WebSocket>>();
  const waiting: Message[] = [];
  let ids = 0;

  const give = (to: WebSocket, data: Message) => {
    ids += 1;
    const params = { id: data.topic, data };
    to.send(JSON.stringify({ id: ids, jsonrpc: "2.0", method: "irn_subscription", params }));
  };

  const subscribe = (from: WebSocket, topic: string): string => {
    const known = subscribers.get(topic) ?? new Set();
    subscribers.set(topic, known.add(from));
    for (const message of waiting.filter((each) => each.topic === topic)) {
      if (!known.has(from)) continue;
      setImmediate(give, from, message);
      waiting.splice(waiting.indexOf(message), 1);
    }
    return topic;
  };

  const publish = (from: WebSocket, topic: string, message: string, tag: number) => {
    const data = { topic, message, tag, publishedAt: Date.now() };
    const others = [...(subscribers.get(topic) ?? [])].filter(
      (each) => each !== from && each.readyState === each.OPEN,
    );
    for (const other of others) give(other, data);
    if (others.length === 0) waiting.push(data);
  };

  const unsubscribe = (from: WebSocket, topic: string) =>
    subscribers.get(topic)?.delete(from) ?? true;

  return { subscribe, unsubscribe, publish };
}

/** Answers a call. @throws {Error} for a method that it does not know */
function answer(
  from: WebSocket,
  { method, params }: Call,
  { subscribe, unsubscribe, publish }: Board,
) {
  const { topic = "", topics = [], message = "", tag = 0 } = params as Partial<Published>;
  switch (method) {
    case "irn_subscribe":
      return subscribe(from, topic);
    case "irn_batchSubscribe":
      return topics.map((each) => subscribe(from, each));
    case "irn_publish":
      publish(from, topic, message, tag);
      return true;
    case "irn_unsubscribe":
      return unsubscribe(from, topic);
    case "irn_batchFetchMessages":
      return { messages: [], hasMore: false };
    case "wc_proposeSession":
      subscribe(from, params.pairingTopic as string);
      publish(from, params.pairingTopic as string, params.sessionProposal as string, 1100);
      return true;
    case "wc_approveSession":
      subscribe(from, params.sessionTopic as string);
      publish(from, params.pairingTopic as string, params.sessionProposalResponse as string, 1101);
      publish(from, params.sessionTopic as string, params.sessionSettlementRequest as string, 1102);
      return true;
    default:
      throw new Error(`the relay was asked ${method}`);
  }
}
