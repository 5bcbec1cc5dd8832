// Generates the HTML head of a payment page. The head contains a title, because programs that
// create link previews do not run scripts. The head also contains the operator's labels, which the
// page shows.

import { type Hex, requestedAmount } from "executable-address";
import { formatUnits } from "executable-address/payment";
import type { AddressState } from "executable-address/status";
import { findName } from "../../accounts/names.ts";
import { lowerAddress } from "../../flow/lower-address.ts";
import { withTimeout } from "../../flow/wait.ts";
import { findCreators } from "../../store/find-records.ts";
import { apiPrefix, recordPath } from "../../store/record.ts";
import type { Parts } from "../parts.ts";
import type { Statuses } from "../status/status.ts";
import { labelsOf, requesterOf } from "./labels.ts";

type PreviewParts = Pick<
  Parts,
  "store" | "chains" | "factory" | "keccak" | "publicUrl" | "labels" | "log"
>;

/**
 * How long the service waits for the chain before it sends a page. After this time, the service
 * sends the page without the address's state.
 */
const statusMsMax = 400;
const late = () => new Error(`no status within ${statusMsMax} ms`);

const stateNames: Record<AddressState, string> = {
  unfunded: "Waiting for payment",
  partially_funded: "Underpaid",
  funded: "Paid",
  executed: "Completed",
  expired: "Expired",
  recovered: "Sent to the return address",
};

/**
 * Returns HTML for the head of an address's payment page, or undefined for an unknown address.
 *
 * Never rejects, because the page also works without this HTML.
 */
export type FindPreview = (address: string) => Promise<string | undefined>;

export function openPreviews(parts: PreviewParts, statuses: Statuses): FindPreview {
  const { store, chains, labels, publicUrl, log } = parts;

  /**
   * Returns the name of the account that created the address. Returns undefined if a client ID
   * created the address. Anyone can copy a client ID from a web page and create addresses with it.
   */
  const creatorName = async (address: Hex): Promise<string | undefined> => {
    const creator = (await findCreators(store.db, [address])).get(address);
    return creator && !creator.isClientId ? findName(store.db, creator.accountId) : undefined;
  };

  const find = async (text: string): Promise<string | undefined> => {
    const subject = await statuses.readSubject(text);
    const { address, intent } = subject;
    const chain = chains.find(intent.chainId);
    const token = chain?.tokens.find((token) => token.address === intent.token);
    const requested = requestedAmount(intent);
    const amount = token
      ? `${formatUnits(requested, token.decimals)} ${token.symbol}`
      : `${formatUnits(requested, 0)} base units`;
    const requester = requesterOf(intent, labels) ?? (await creatorName(lowerAddress(address)));
    const where = chain?.name ?? `chain ${intent.chainId}`;
    const state = await withTimeout(statusMsMax, statuses.read(subject), late).catch(
      () => undefined,
    );
    const facts = {
      requester,
      labels: labelsOf(intent, labels),
      walletChain: chain?.wallet,
    };
    return head({
      title: `${amount} on ${where}`,
      description: [requester, state && stateNames[state.state]].filter(Boolean).join(" · "),
      url: `${publicUrl}/a/${address}`,
      address,
      facts,
    });
  };

  return async (text) => {
    try {
      return await find(text);
    } catch (error) {
      log.debug({ err: error }, "a page was sent without its preview");
      return undefined;
    }
  };
}

type Head = { title: string; description: string; url: string; address: string; facts: object };

/** @param address in EIP-55 case, like in the requests of the page's script */
function head({ title, description, url, address, facts }: Head): string {
  const meta = (property: string, content: string) =>
    `<meta property="${property}" content="${escaped(content)}" />`;
  return [
    `<title>${escaped(title)}</title>`,
    meta("og:title", title),
    meta("og:description", description || "What happens when you pay this address"),
    meta("og:type", "website"),
    meta("og:url", url),
    // The page's script needs the record and the chains. With these links, the browser fetches the
    // record and the chains before the script runs.
    ...[recordPath(address), `${apiPrefix}/chains`].map(
      (path) => `<link rel="preload" as="fetch" crossorigin="anonymous" href="${path}" />`,
    ),
    // The Content-Security-Policy prevents the page's data from running as a script. Each "<" is
    // escaped, because the data could otherwise end the script element.
    `<script type="application/json" id="facts">${inertJson(facts)}</script>`,
  ].join("\n    ");
}

const inertJson = (value: object) => JSON.stringify(value).replaceAll("<", "\\u003c");

const entities: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

const escaped = (text: string) => text.replace(/[&<>"']/g, (character) => entities[character]!);
