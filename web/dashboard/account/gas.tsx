import { useQuery } from "@tanstack/react-query";
import { formatUnits } from "executable-address-element/page";
import { api } from "../api.ts";
import { sayChain } from "../money.ts";
import { Table } from "../parts/table.tsx";
import { useConfig } from "../queries.ts";
import { QueryState } from "../query-state.tsx";
import { useSpeech } from "../words/speech.ts";

/** The chain's coin, in which fees are paid, has 18 decimals on every chain that is listed. */
const sayWei = (wei: string) => formatUnits(wei, 18);

/** Shows what the executor spent on this account's addresses, as its budgets count it. */
export function GasSpent() {
  const { say } = useSpeech();
  const account = useQuery({ queryKey: ["account"], queryFn: api.account });
  const rows = account.data?.gasSpent ?? [];
  const chains = useConfig().data?.chains ?? [];
  return (
    <section aria-labelledby="gas" className="card">
      <div className="border-b border-line p-5">
        <h2 id="gas">{say("gasSpent")}</h2>
        {account.data && (
          <p className="mt-1 text-soft">{say(rows.length === 0 ? "noGas" : "gasText")}</p>
        )}
      </div>
      <QueryState query={account} lines={2} />
      {rows.length > 0 && (
        <Table
          caption={say("gasCaption")}
          rows={rows}
          keyOf={({ day, chainId }) => `${day} ${chainId}`}
          columns={[
            { head: say("day"), cell: ({ day }) => day },
            { head: say("chain"), cell: (row) => sayChain(row, chains, say) },
            { head: say("gas"), cell: ({ gasWei }) => sayWei(gasWei) },
            { head: say("paidByTips"), cell: ({ tipsWei }) => sayWei(tipsWei) },
            { head: say("notCovered"), cell: ({ wei }) => sayWei(wei) },
            { head: say("byClientId"), cell: ({ clientIdWei }) => sayWei(clientIdWei) },
            { head: say("failedTips"), cell: ({ failedTipsWei }) => sayWei(failedTipsWei) },
          ]}
        />
      )}
    </section>
  );
}
