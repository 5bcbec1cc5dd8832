// `executable-address-element/react`: the element as a React component, which uses the page's own
// React.

import { createElement, type ReactElement, useEffect, useRef } from "react";
import type { AddressEventDetail, ElementWords, ExecutableAddressElement } from "./element.ts";
import "./element.ts";

export type ExecutableAddressProps = {
  /** 0x and 40 hex characters, in any letter case. */
  address: string;
  /** The base URL with its version, such as `https://pay.example/v1`. */
  baseUrl: string;
  /** Base URLs of mirrors, which are tried if the service returns no valid record. */
  mirrors?: readonly string[];
  words?: Partial<ElementWords>;
  className?: string;
  /** Each handler is called at most once per address. */
  onPaid?: (detail: AddressEventDetail) => void;
  onExecuted?: (detail: AddressEventDetail) => void;
  onExpired?: (detail: AddressEventDetail) => void;
};

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      /** Declares the tags for TypeScript's JSX. */
      "executable-address": import("react").HTMLAttributes<HTMLElement> &
        import("react").RefAttributes<HTMLElement> & {
          address: string;
          "base-url": string;
          /** Base URLs, separated by spaces. */
          mirrors?: string;
        };
      "executable-recovery": import("react").HTMLAttributes<HTMLElement> &
        import("react").RefAttributes<HTMLElement> & {
          /** The ID of the input field in the page. */
          for: string;
        };
    }
  }
}

/** Changing the event handlers or `words` causes no request. */
export function ExecutableAddress(props: ExecutableAddressProps): ReactElement {
  const { address, baseUrl, mirrors, words, className } = props;
  const place = useRef<ExecutableAddressElement>(null);
  const present = useRef(props);
  present.current = props;

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const detailOf = (event: Event) => (event as CustomEvent<AddressEventDetail>).detail;
    const listeners: Record<string, (event: Event) => void> = {
      paid: (event) => present.current.onPaid?.(detailOf(event)),
      executed: (event) => present.current.onExecuted?.(detailOf(event)),
      expired: (event) => present.current.onExpired?.(detailOf(event)),
    };
    for (const [name, listen] of Object.entries(listeners)) element.addEventListener(name, listen);
    return () => {
      for (const [name, listen] of Object.entries(listeners))
        element.removeEventListener(name, listen);
    };
  }, []);
  useEffect(() => {
    if (place.current && words) place.current.words = words;
  }, [words]);
  return createElement("executable-address", {
    ref: place,
    address,
    "base-url": baseUrl,
    mirrors: mirrors?.join(" "),
    class: className,
  });
}
