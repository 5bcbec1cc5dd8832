import { useQuery } from "@tanstack/react-query";
import type { Hex, Intent } from "executable-address";
import { formatUnits } from "executable-address/payment";
import { CopyButton } from "../ui/copy.tsx";
import { ShortHex } from "../ui/hex.tsx";
import { Badge } from "../ui/notice.tsx";
import { Table } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";
import { api, type Chain, type OwnedAddress } from "./api.ts";
import { sayProblem } from "./problems.ts";

type AddressTableProps = { rows: readonly OwnedAddress[]; chains: readonly Chain[] };

export function AddressTable({ rows, chains }: AddressTableProps) {
  return (
    <Table
      caption="Addresses"
      rows={rows}
      keyOf={({ address }) => address}
      columns={[
        {
          head: "Address",
          cell: ({ address }) => (
            <span className="flex items-center gap-1">
              <a href={`/a/${address}`} className="link">
                <ShortHex hex={address} />
              </a>
              <CopyButton look="bare" text={address} what="address" />
            </span>
          ),
        },
        { head: "Amount", cell: ({ intent }) => <Amount intent={intent} chains={chains} /> },
        { head: "State", cell: ({ address }) => <State address={address} /> },
        {
          head: "Expires",
          cell: ({ intent }) => <Time at={intent.expirationTimestamp * 1000} />,
        },
        { head: "Created", cell: ({ createdAt }) => <Time at={createdAt} /> },
      ]}
    />
  );
}

function Amount({ intent, chains }: { intent: Intent; chains: readonly Chain[] }) {
  const chain = chains.find(({ chainId }) => chainId === intent.chainId);
  const token = chain?.tokens.find(
    ({ address }) => address.toLowerCase() === intent.token.toLowerCase(),
  );
  return (
    <span>
      <span className="tabular-nums">
        {token ? `${formatUnits(intent.amount, token.decimals)} ${token.symbol}` : intent.amount}
      </span>
      <span className="block text-sm text-soft">{chain?.name ?? `chain ${intent.chainId}`}</span>
    </span>
  );
}

const states = {
  unfunded: ["plain", "Unfunded"],
  partially_funded: ["warn", "Partly funded"],
  funded: ["good", "Funded"],
  executed: ["good", "Executed"],
  expired: ["warn", "Expired"],
  recovered: ["plain", "Recovered"],
} as const;

/** Read from the chain by the public status route; a chain that is away spoils no other row. */
function State({ address }: { address: Hex }) {
  const status = useQuery({
    queryKey: ["status", address],
    queryFn: () => api.status(address),
    retry: false,
  });
  if (status.isPending) return <span className="skeleton inline-block h-4 w-16" />;
  if (status.isError) {
    return (
      <span className="text-soft" title={sayProblem(status.error)}>
        Unknown
      </span>
    );
  }
  const [tone, name] = states[status.data.state] ?? ["plain", status.data.state];
  return <Badge tone={tone}>{name}</Badge>;
}
