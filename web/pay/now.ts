import { useEffect, useState } from "react";

const refreshMilliseconds = 10_000;
const nowSeconds = () => Math.floor(Date.now() / 1000);

/** The time by this device's clock: a page left open must not go on offering an expired address. */
export function useNowSeconds(): number {
  const [now, setNow] = useState(nowSeconds);
  useEffect(() => {
    const timer = setInterval(() => setNow(nowSeconds()), refreshMilliseconds);
    return () => clearInterval(timer);
  }, []);
  return now;
}
