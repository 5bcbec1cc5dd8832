import type { AddressRecord } from "executable-address";
import type { ServiceStatus } from "executable-address/status";
import { CopyButton } from "../ui/copy.tsx";
import { Notice } from "../ui/notice.tsx";
import type { Token } from "./chains.ts";
import { owed, paymentLink } from "./payment.ts";
import { QrCode } from "./qr-code.tsx";
import { sayAmount } from "./reading.ts";
import type { Following } from "./status.ts";
import { WalletButtons } from "./wallet-buttons.tsx";

type HowProps = {
  record: AddressRecord;
  token: Token | undefined;
  following: Following;
  isClosed: boolean;
};
const closed = ["funded", "executed", "expired", "recovered"];

/** Whether more money could only go on to `recovery`. */
export const takesNoMore = (status: ServiceStatus | undefined) =>
  status !== undefined && closed.includes(status.state);

/** How to pay, unless paying now would only send money to `recovery`. */
export function HowToPay({ record, token, following, isClosed }: HowProps) {
  const { status } = following;
  const { address, intent } = record;
  if (isClosed) {
    return (
      <Notice title={status?.state === "funded" ? "It is paid" : "Nothing to pay now"}>
        <p>Whatever is sent to this address from here on goes to its recovery address.</p>
      </Notice>
    );
  }
  const amount = owed(intent.amount, status?.balance ?? "0");
  const link = paymentLink(record, amount);
  return (
    <section aria-labelledby="pay" className="card p-5 sm:p-6">
      <h2 id="pay" className="mb-4">
        Pay it
      </h2>
      <div className="flex flex-col gap-6 sm:flex-row">
        <QrCode text={link} label="Payment link as a QR code" />
        <div className="min-w-0 flex-1 space-y-4">
          {amount !== intent.amount && (
            <p className="font-semibold">Still to pay: {sayAmount(amount, token)}</p>
          )}
          <div>
            <p className="text-sm text-soft">Address</p>
            <div className="flex items-start gap-2">
              <code className="pt-1 break-all">{address}</code>
              <CopyButton look="bare" text={address} what="address" />
            </div>
          </div>
          <WalletButtons record={record} amount={amount} />
          <p>
            <a href={link} className="link">
              Open in a wallet app
            </a>
          </p>
        </div>
      </div>
    </section>
  );
}
