// What a payer may want to know beyond the payment: where money goes otherwise, and the evidence.

import type { AddressRecord } from "executable-address";
import { CopyButton } from "../ui/copy.tsx";
import { Definitions } from "../ui/definition.tsx";
import { Time } from "../ui/time.tsx";

export function Otherwise({ record: { intent } }: { record: AddressRecord }) {
  return (
    <section aria-labelledby="otherwise" className="card p-5 sm:p-6">
      <h2 id="otherwise" className="mb-1">
        If it does not happen
      </h2>
      <p className="mb-4 text-soft">
        Money that is late, too much, of another token or on another chain goes to the recovery
        address. Whoever made this address chose it: ask them if it is not yours.
      </p>
      <Definitions
        items={[
          [
            "Recovery address",
            <code key="to" className="break-all">
              {intent.recovery}
            </code>,
          ],
          ["Expires", <Time key="at" at={intent.expirationTimestamp * 1000} />],
        ]}
      />
    </section>
  );
}

export function Evidence({ record }: { record: AddressRecord }) {
  const { intent } = record;
  return (
    <details className="card p-5 sm:p-6">
      <summary className="cursor-pointer font-semibold">How this was checked</summary>
      <p className="my-3 text-soft">
        The address is a hash of the words above. Your browser worked it out again from them and
        from the factory that is built into this page; the names and decimals of tokens and the
        state are this server's word.
      </p>
      <Definitions
        items={[
          [
            "Factory",
            <code key="factory" className="break-all">
              {record.factory}
            </code>,
          ],
          [
            "Token",
            <code key="token" className="break-all">
              {intent.token}
            </code>,
          ],
          [
            "Base units",
            <code key="amount" className="break-all">
              {intent.amount}
            </code>,
          ],
          ["Chain", intent.chainId],
          [
            "Salt",
            <code key="salt" className="break-all">
              {intent.salt}
            </code>,
          ],
          [
            "Terms",
            <CopyButton key="terms" text={record.terms} what="terms">
              Copy {(record.terms.length - 2) / 2} bytes
            </CopyButton>,
          ],
          [
            "Without a server",
            <a key="link" className="link" href={`/a/#terms=${record.terms}`}>
              This page from the terms alone
            </a>,
          ],
        ]}
      />
    </details>
  );
}
