// Stores sessions by digest, so that a database or its backup opens no session, even though the
// secret that signs cookies is in it.
//
// better-auth writes and searches the token itself, so its adapter is wrapped: the token is
// replaced by its digest on the way in, and by the token that was asked with on the way out.

import { getAdapter } from "better-auth/db/adapter";
import { digestOf } from "../credentials.ts";

type Options = Parameters<typeof getAdapter>[0];
type Adapter = Awaited<ReturnType<typeof getAdapter>>;
type Where = NonNullable<Parameters<Adapter["findMany"]>[0]["where"]>;

/** `options` with their database behind digests. */
export async function withSessionDigests<Given extends Options>(options: Given) {
  const adapter = byDigest(await getAdapter(options));
  return { ...options, database: () => adapter };
}

function byDigest(adapter: Adapter): Adapter {
  return {
    ...adapter,
    transaction: (work) => adapter.transaction((inner) => work(byDigest(inner as Adapter))),
    async create(call) {
      if (call.model !== "session") return adapter.create(call);
      const { token } = call.data as unknown as { token: string };
      const data = { ...call.data, token: storedToken(token) };
      const made: object = await adapter.create({ ...call, data });
      return { ...made, token } as never;
    },
    async findOne(call) {
      const { where, restore } = searched(call);
      return restore(await adapter.findOne({ ...call, where })) as never;
    },
    async findMany(call) {
      const { where, restore } = searched(call);
      return (await adapter.findMany({ ...call, where })).map(restore) as never;
    },
    async update(call) {
      const { where, restore } = searched(call);
      return restore(await adapter.update({ ...call, where })) as never;
    },
    updateMany: (call) => adapter.updateMany({ ...call, where: searched(call).where }),
    delete: (call) => adapter.delete({ ...call, where: searched(call).where }),
    deleteMany: (call) => adapter.deleteMany({ ...call, where: searched(call).where }),
  };
}

/** The form in `auth_sessions`: 64 hex digits. */
const storedToken = (token: string) => digestOf(`session ${token}`).toString("hex");

/** The search by digest, and what puts the tokens that were asked with into what is found. */
function searched({ model, where = [] }: { model: string; where?: Where | undefined }) {
  const asked = new Map<unknown, string>();
  const digestFor = (token: unknown) => {
    const digest = storedToken(String(token));
    asked.set(digest, String(token));
    return digest;
  };
  const isToken = (field: string) => model === "session" && field === "token";
  const digests = where.map((each) => {
    if (!isToken(each.field)) return each;
    const { value } = each;
    return { ...each, value: Array.isArray(value) ? value.map(digestFor) : digestFor(value) };
  }) as Where;
  const restore = <Found>(found: Found): Found => {
    const token = asked.get((found as { token?: unknown } | null)?.token);
    return token === undefined ? found : { ...found, token };
  };
  return { where: digests, restore };
}
