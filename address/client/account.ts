// What takes an API key: the account's own addresses and events, and its webhook endpoints. Only
// servers have the key, so the code that checks these answers is loaded by the first call.

import { parseAddress } from "../abi/checksum.ts";
import { refuseUnknown } from "../errors.ts";
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
import { orNothing } from "./mirrors.ts";
import type { Settings } from "./options.ts";
import { loadCode, send, writeQuery } from "./request.ts";

/** The methods of a client that take an API key. */
export type Account = {
  /**
   * A page of the account's addresses, as the service last saw them; by `for await` all of them, a
   * page at a time. Takes an API key.
   */
  addresses(query?: AddressQuery, options?: CallOptions): Paged<AddressPage>;
  /** The account's own row of `address`; undefined where it created none. Takes an API key. */
  mine(address: Hex, options?: CallOptions): Answered<ListedAddress | undefined>;
  /**
   * A page of the account's events, oldest first, of the last 30 days; by `for await` all of them
   * up to now. Takes an API key.
   */
  events(query?: EventQuery, options?: CallOptions): Paged<EventPage>;
  /** One event of the account's; undefined where none is kept under `id`. Takes an API key. */
  event(id: string, options?: CallOptions): Answered<ServiceEvent | undefined>;
  /** The account's webhook endpoints. They take an API key with the scope `webhooks`. */
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
          call(options, async (get) => {
            const { addressFields, proveAddressPage } = await loadLists();
            refuseUnknown(query, Object.keys(addressFields).join(", "), "field");
            return proveAddressPage(await get(`/addresses${writeQuery({ ...query, cursor })}`));
          }),
        query.cursor,
      ),
    mine: (address, options) =>
      call(options, async (get) => {
        const asked = parseAddress(address, { path: ["address"], ...trust });
        const { proveListed } = await loadLists();
        return orNothing(async () => proveListed(await get(`/address/${asked}/mine`), asked));
      }),
    events: (query = {}, options) =>
      startPages(
        (cursor) =>
          call(options, async (get) => {
            const { eventFields, proveEventPage } = await loadLists();
            refuseUnknown(query, Object.keys(eventFields).join(", "), "field");
            const fields = { ...query, cursor, types: query.types?.join(",") };
            return proveEventPage(await get(`/events${writeQuery(fields)}`));
          }),
        query.cursor,
      ),
    event: (id, options) =>
      call(options, async (get) => {
        const { proveEventOf } = await loadLists();
        const path = `/events/${encodeURIComponent(id)}`;
        return orNothing(async () => proveEventOf(await get(path), id));
      }),
    webhooks: openLater(openSending(settings)),
  };
}

const methods = "list create get pause resume rotate test replay deliveries remove".split(" ");

/** Starts requests of endpoints.ts, which then needs nothing of the code that a page has loaded. */
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
    orNothing,
  };
}

/** The methods of endpoints.ts, which is loaded by the first call. */
function openLater(sending: Sending): Endpoints {
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
  return Object.fromEntries(methods.map((name) => [name, later(name)])) as unknown as Endpoints;
}
