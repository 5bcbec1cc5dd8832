import { Field, Select } from "../../ui/field.tsx";
import type { Chain } from "../api.ts";
import { useSettled } from "../queries.ts";
import type { AddressFilter } from "./api.ts";
import { states } from "./state.tsx";

/** The filter as typed and chosen; days are of this browser's time zone. */
export type Typed = { text: string; token: string; state: string; from: string; until: string };
export const untyped: Typed = { text: "", token: "", state: "", from: "", until: "" };

/** The beginning of an address is enough to find it. */
const beginningPattern = /^0x[0-9a-fA-F]{0,40}$/;
const isAddress = (text: string) => text.startsWith("0x");

/** Asks for an address alone with a token, or for anything else together. */
export function toFilter({ text, token, state, from, until }: Typed): AddressFilter {
  const typed = text.trim();
  const none = { address: "", reference: "", state: "", createdFrom: "", createdUntil: "" };
  if (isAddress(typed)) {
    return { ...none, token, address: beginningPattern.test(typed) ? typed : "" };
  }
  return {
    ...{ ...none, token, state, reference: typed },
    createdFrom: startOf(from, 0),
    createdUntil: startOf(until, 1),
  };
}

/** Midnight here at the start of `day` (`2026-11-22`), or so many days later. */
function startOf(day: string, daysLater: number): string {
  const [year, month, date] = day.split("-").map(Number);
  if (!year || !month || !date) return "";
  return new Date(year, month - 1, date + daysLater).toISOString();
}

type FilterFormProps = {
  typed: Typed;
  onType: (typed: Typed) => void;
  chains: readonly Chain[];
};

export function FilterForm({ typed, onType, chains }: FilterFormProps) {
  const settled = useSettled(typed.text.trim());
  const isWrong = isAddress(settled) && !beginningPattern.test(settled);
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
