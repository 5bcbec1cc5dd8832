/** Base units as a person writes them: "1500000" with 6 decimals is "1.5". Never rounds. */
export function formatUnits(amount: string, decimals: number): string {
  const digits = amount.padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const part = digits.slice(digits.length - decimals).replace(/0+$/, "");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return part === "" ? grouped : `${grouped}.${part}`;
}
