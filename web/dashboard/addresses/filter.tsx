import type { Chain } from "../api.ts";
import { Field, Select } from "../parts/field.tsx";
import { useSettled } from "../queries.ts";
import { useSpeech } from "../words/speech.ts";
import { isBeginning, meansAddress, type Typed } from "./filter-query.ts";
import { states } from "./state.tsx";

type FilterFormProps = {
  typed: Typed;
  onType: (typed: Typed) => void;
  chains: readonly Chain[];
};

export function FilterForm({ typed, onType, chains }: FilterFormProps) {
  const { say } = useSpeech();
  const settled = useSettled(typed.text.trim());
  const isWrong = meansAddress(settled) && !isBeginning(settled);
  const byAddress = meansAddress(typed.text.trim());
  const change = (name: keyof Typed) => (event: { target: { value: string } }) =>
    onType({ ...typed, [name]: event.target.value });
  return (
    <search className="mb-5 grid grid-cols-2 gap-3 lg:grid-cols-[1fr_11rem_9rem_9.5rem_9.5rem]">
      <div className="max-lg:col-span-2">
        <Field
          label={say("addressOrReference")}
          type="search"
          value={typed.text}
          onChange={change("text")}
          placeholder={say("searchPlaceholder")}
          autoComplete="off"
          spellCheck={false}
          error={isWrong ? say("beginningFault") : undefined}
        />
      </div>
      <Select label={say("token")} value={typed.token} onChange={change("token")}>
        <option value="">{say("anyToken")}</option>
        {chains.flatMap((chain) =>
          chain.tokens.map((token) => (
            <option key={`${chain.chainId}-${token.address}`} value={token.address}>
              {say("tokenOn", { token: token.symbol, chain: chain.name })}
            </option>
          )),
        )}
      </Select>
      <Select
        label={say("state")}
        value={byAddress ? "" : typed.state}
        onChange={change("state")}
        disabled={byAddress}
      >
        <option value="">{say("anyState")}</option>
        {Object.entries(states).map(([state, [, name]]) => (
          <option key={state} value={state}>
            {say(name)}
          </option>
        ))}
      </Select>
      <Field
        label={say("createdFrom")}
        type="date"
        value={byAddress ? "" : typed.from}
        onChange={change("from")}
        disabled={byAddress}
      />
      <Field
        label={say("until")}
        type="date"
        value={byAddress ? "" : typed.until}
        onChange={change("until")}
        disabled={byAddress}
      />
    </search>
  );
}
