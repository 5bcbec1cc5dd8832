import type { Token } from "executable-address-element/page";
import type { ReactNode } from "react";
import { useAbout } from "./about.tsx";
import { Party } from "./address-text.tsx";
import { InertText } from "./inert-text.tsx";
import { fieldsOf, itemsOf } from "./value.ts";

type ArgumentProps = { type: string; text: string; token?: Token | undefined };

/**
 * Shows an argument: an address with its name, an amount in units of the token, a tuple as a table.
 */
export function Argument({ type, text, token }: ArgumentProps): ReactNode {
  const { sayAmount } = useAbout();
  if (type === "address") return <Party address={text} />;
  if (token) {
    return (
      <>
        <bdi dir="ltr" className="wrap-anywhere">
          {text}
        </bdi>
        <span className="font-sans text-soft">
          {" "}
          (<bdi>{sayAmount(text, token)}</bdi>)
        </span>
      </>
    );
  }
  const items = itemsOf(type, text);
  if (items) return <Items type={items.type} items={items.values} />;
  const fields = fieldsOf(type, text);
  if (!fields) return <InertText text={text} />;
  return (
    <table className="fields">
      <tbody>
        {fields.map(({ name, type, value }) => (
          <tr key={name}>
            <th scope="row">
              {name} <code dir="ltr">{type}</code>
            </th>
            <td>
              <Argument type={type} text={value} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Shows an array: tuples as rows of a table, other items as a list. */
function Items({ type, items }: { type: string; items: readonly string[] }) {
  if (items.length === 0) return "[]";
  const rows = items.map((item) => fieldsOf(type, item));
  const head = rows[0];
  if (!head) {
    return (
      <ol className="list-inside list-decimal">
        {items.map((item, at) => (
          <li key={at.toString()}>
            <Argument type={type} text={item} />
          </li>
        ))}
      </ol>
    );
  }
  return (
    <div className="overflow-x-auto">
      <table className="fields">
        <thead>
          <tr>
            {head.map(({ name, type }) => (
              <th key={name} scope="col">
                {name} <code dir="ltr">{type}</code>
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at.toString()}>
              {row?.map(({ name, type, value }) => (
                <td key={name}>
                  <Argument type={type} text={value} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
