import { formatUnits } from "executable-address/page";
import { Table } from "../../ui/table.tsx";
import type { Account } from "../api.ts";
import { useConfig } from "../queries.ts";

/** The chain's coin, in which fees are paid, has 18 decimals on every chain that is listed. */
const sayWei = (wei: string) => formatUnits(wei, 18);

/** Shows what the executor spent on this account's addresses, as its budgets count it. */
export function GasSpent({ rows }: { rows: Account["gasSpent"] }) {
  const chains = useConfig().data?.chains ?? [];
  const nameOf = (chainId: number) =>
    chains.find((chain) => chain.chainId === chainId)?.name ?? `chain ${chainId}`;
  return (
    <section aria-labelledby="gas" className="card">
      <div className="border-b border-line p-5">
        <h2 id="gas">Gas spent</h2>
        <p className="mt-1 text-soft">
          {rows.length === 0
            ? "Nothing so far. What runs by itself at your addresses is listed here by day."
            : "For your addresses, by day of the chain's clock, in the chain's own coin."}
        </p>
      </div>
      {rows.length > 0 && (
        <Table
          caption="Gas spent by day and chain"
          rows={rows}
          keyOf={({ day, chainId }) => `${day} ${chainId}`}
          columns={[
            { head: "Day", cell: ({ day }) => day },
            { head: "Chain", cell: ({ chainId }) => nameOf(chainId) },
            { head: "Gas", cell: ({ gasWei }) => sayWei(gasWei) },
            { head: "Paid by tips", cell: ({ tipsWei }) => sayWei(tipsWei) },
            { head: "Not covered", cell: ({ wei }) => sayWei(wei) },
            { head: "Of it by the client ID", cell: ({ clientIdWei }) => sayWei(clientIdWei) },
            { head: "Where tips were to pay", cell: ({ failedTipsWei }) => sayWei(failedTipsWei) },
          ]}
        />
      )}
    </section>
  );
}
