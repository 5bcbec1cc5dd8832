// `executable-address-element/react`: the element as a React component. React is the page's own.

import { createElement, type ReactElement, useEffect, useRef } from "react";
import type { AddressEventDetail, ElementWords, ExecutableAddressElement } from "./element.ts";
import "./element.ts";

export type ExecutableAddressProps = {
  /** 0x and 40 hex characters, any letter case. */
  address: string;
  /** It names the version, as in `https://pay.example/v1`. */
  baseUrl: string;
  /** Base URLs of mirrors, asked for the record where the service gives none. */
  mirrors?: readonly string[];
  words?: Partial<ElementWords>;
  className?: string;
  /** Each is called once for an address. */
  onPaid?: (detail: AddressEventDetail) => void;
  onExecuted?: (detail: AddressEventDetail) => void;
  onExpired?: (detail: AddressEventDetail) => void;
};

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      /** Types the tags themselves. */
      "executable-address": import("react").HTMLAttributes<HTMLElement> &
        import("react").RefAttributes<HTMLElement> & {
          address: string;
          "base-url": string;
          /** Base URLs with spaces between them. */
          mirrors?: string;
        };
      "executable-recovery": import("react").HTMLAttributes<HTMLElement> &
        import("react").RefAttributes<HTMLElement> & {
          /** The id of the page's field. */
          for: string;
        };
    }
  }
}

/** Handlers and words may change at each render without anything being fetched again. */
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
