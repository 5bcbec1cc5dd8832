import { Field, Select } from "../../ui/field.tsx";
import type { Chain } from "../api.ts";
import { useSettled } from "../queries.ts";
import { isAddress, isBeginning, type Typed } from "./filter-query.ts";
import { states } from "./state.tsx";

type FilterFormProps = {
  typed: Typed;
  onType: (typed: Typed) => void;
  chains: readonly Chain[];
};

export function FilterForm({ typed, onType, chains }: FilterFormProps) {
  const settled = useSettled(typed.text.trim());
  const isWrong = isAddress(settled) && !isBeginning(settled);
  const byAddress = isAddress(typed.text.trim());
  const change = (name: keyof Typed) => (event: { target: { value: string } }) =>
    onType({ ...typed, [name]: event.target.value });
  return (
    <search className="mb-5 grid grid-cols-2 gap-3 lg:grid-cols-[1fr_11rem_9rem_9.5rem_9.5rem]">
      <div className="max-lg:col-span-2">
        <Field
          label="Address or reference"
          type="search"
          value={typed.text}
          onChange={change("text")}
          placeholder="0x… or order-42"
          autoComplete="off"
          spellCheck={false}
          error={isWrong ? "An address begins with 0x, hex characters follow." : undefined}
        />
      </div>
      <Select label="Token" value={typed.token} onChange={change("token")}>
        <option value="">Any token</option>
        {chains.flatMap((chain) =>
          chain.tokens.map((token) => (
            <option key={`${chain.chainId}-${token.address}`} value={token.address}>
              {token.symbol} on {chain.name}
            </option>
          )),
        )}
      </Select>
      <Select
        label="State"
        value={byAddress ? "" : typed.state}
        onChange={change("state")}
        disabled={byAddress}
      >
        <option value="">Any state</option>
        {Object.entries(states).map(([state, [, name]]) => (
          <option key={state} value={state}>
            {name}
          </option>
        ))}
      </Select>
      <Field
        label="Created from"
        type="date"
        value={byAddress ? "" : typed.from}
        onChange={change("from")}
        disabled={byAddress}
      />
      <Field
        label="Until"
        type="date"
        value={byAddress ? "" : typed.until}
        onChange={change("until")}
        disabled={byAddress}
      />
    </search>
  );
}
