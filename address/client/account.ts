// The methods that need an API key. They read or change the account's addresses, events, and
// webhook endpoints. The first call of a method loads the code that checks the answers. Pages do
// not need this code, because only servers have API keys.

import { parseAddress } from "../abi/checksum.ts";
import type { Hex } from "../intent/intent.ts";
import {
  type Answered,
  type Call,
  type CallOptions,
  callOptions,
  optionsOfOneAttempt,
  type Paged,
  startCall,
  startPages,
} from "./call.ts";
import type { Endpoints, Sending } from "./endpoints.ts";
import type {
  AddressPage,
  AddressQuery,
  EventPage,
  EventQuery,
  ListedAddress,
  ServiceEvent,
} from "./lists.ts";
import { orUndefined } from "./mirrors.ts";
import type { Settings } from "./options.ts";
import { loadCode, send } from "./request.ts";

/** The methods of a client that need an API key. */
export type Account = {
  /**
   * Returns a page of the account's addresses with their last known states. With `for await`,
   * yields the addresses of all pages. Needs an API key.
   */
  addresses(query?: AddressQuery, options?: CallOptions): Paged<AddressPage>;
  /**
   * Returns the account's row for `address`, or undefined if the account did not create the
   * address. Needs an API key.
   */
  mine(address: Hex, options?: CallOptions): Answered<ListedAddress | undefined>;
  /**
   * Returns a page of the account's events of the last 30 days, oldest first. With `for await`,
   * yields the events of all pages. Needs an API key.
   */
  events(query?: EventQuery, options?: CallOptions): Paged<EventPage>;
  /** Returns the account's event with this ID, or undefined if there is none. Needs an API key. */
  event(id: string, options?: CallOptions): Answered<ServiceEvent | undefined>;
  /** The account's webhook endpoints. These methods need an API key with the scope `webhooks`. */
  readonly webhooks: Endpoints;
};

const loadLists = () => loadCode(import("./lists.ts"));

export function openAccount(settings: Settings): Account {
  const { credential, transport, trust } = settings;
  const call = <Answer>(
    options: CallOptions | undefined,
    run: (get: (path: string) => Promise<unknown>) => Promise<Answer>,
  ) =>
    startCall(transport, options ?? {}, callOptions, ({ transport, signal }: Call) =>
      run((path) => send(transport, { method: "GET", path, headers: credential, signal })),
    );

  return {
    addresses: (query = {}, options) =>
      startPages(
        (cursor) =>
          call(options, async (get) => (await loadLists()).readAddresses(get, query, cursor)),
        query.cursor,
      ),
    mine: (address, options) =>
      call(options, async (get) => {
        const parsed = parseAddress(address, { path: ["address"], ...trust });
        const { readListed } = await loadLists();
        return orUndefined(() => readListed(get, parsed));
      }),
    events: (query = {}, options) =>
      startPages(
        (cursor) =>
          call(options, async (get) => (await loadLists()).readEvents(get, query, cursor)),
        query.cursor,
      ),
    event: (id, options) =>
      call(options, async (get) => {
        const { readEvent } = await loadLists();
        return orUndefined(() => readEvent(get, id));
      }),
    webhooks: loadOnCall(openSending(settings)),
  };
}

/** The methods that {@link loadOnCall} returns. The type requires all methods of endpoints.ts. */
const methods: Readonly<Record<keyof Endpoints, true>> = {
  list: true,
  create: true,
  get: true,
  pause: true,
  resume: true,
  rotate: true,
  test: true,
  replay: true,
  deliveries: true,
  remove: true,
};

/**
 * Returns the functions that endpoints.ts uses to send requests. That file is loaded on demand, so
 * it receives the functions instead of importing them.
 */
function openSending({ credential, transport }: Settings): Sending {
  return {
    read: (path, options = {}, read) =>
      startCall(transport, options, callOptions, ({ transport, signal }) =>
        read(() => send(transport, { method: "GET", path, headers: credential, signal })),
      ),
    write(method, path, options = {}, read, input) {
      const body = input && { body: JSON.stringify(input) };
      const headers = { ...(body && { "Content-Type": "application/json" }), ...credential };
      const once = { ...transport, retriesMax: 0 };
      return startCall(once, options, optionsOfOneAttempt, async ({ transport, signal }) =>
        read(await send(transport, { method, path, headers, signal, ...body })),
      );
    },
    orUndefined,
  };
}

/** Returns the methods of endpoints.ts. The first call of a method loads that file. */
function loadOnCall(sending: Sending): Endpoints {
  const later =
    (name: string) =>
    (...given: never[]) => {
      const started = loadCode(import("./endpoints.ts")).then(({ openEndpoints }) => {
        const endpoints = openEndpoints(sending) as Record<
          string,
          (...given: never[]) => Answered<unknown>
        >;
        return { answer: endpoints[name]!(...given) };
      });
      const data = started.then(({ answer }) => answer);
      return Object.assign(data, {
        async withResponse() {
          await data;
          return (await started).answer.withResponse();
        },
        async *[Symbol.asyncIterator]() {
          yield* (await data) as readonly unknown[];
        },
      });
    };
  const entries = Object.keys(methods).map((name) => [name, later(name)]);
  return Object.fromEntries(entries) as unknown as Endpoints;
}
