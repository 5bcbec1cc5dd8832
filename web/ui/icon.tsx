const paths = {
  overview: "M4 13h6V4H4zM14 20h6V4h-6zM4 20h6v-3H4z",
  key: "M14.5 9.5a4.5 4.5 0 1 0-4 4.47L12 15.5h2V18h2.5v2.5H20V17l-5.9-5.9c.26-.5.4-1.04.4-1.6z",
  globe: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM3 12h18M12 3c5 5.4 5 12.6 0 18-5-5.4-5-12.6 0-18z",
  list: "M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01",
  clock: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5l3.5 2",
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 20.5a7.5 7.5 0 0 1 15 0",
  copy: "M9 9h11v11H9zM15 9V4H4v11h5",
  check: "m5 12.5 4.5 4.5L19 7.5",
  cross: "M6 6l12 12M18 6 6 18",
  warning: "M12 4 2.5 20h19zM12 10v4.5M12 17.2v.1",
  info: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 11v5M12 7.8v.1",
  menu: "M4 7h16M4 12h16M4 17h16",
  sun: `M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4
    M17.6 17.6 19 19M5 19l1.4-1.4M17.6 6.4 19 5`,
  moon: "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5z",
  device: "M4 5h16v11H4zM9 20h6M12 16v4",
  out: "M14 5h5v14h-5M4 12h10M10.5 8l4 4-4 4",
  open: "M13 5h6v6M19 5l-8.5 8.5M10 6H5v13h13v-5",
  shield: "M12 3 4.5 6v5.5c0 4.6 3.1 8 7.5 9.5 4.4-1.5 7.5-4.9 7.5-9.5V6zM8.5 12l2.5 2.5 4.5-4.5",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l4.5 4.5",
} as const;

export type IconName = keyof typeof paths;

/** A decorative icon. Screen readers skip the icon, because the text beside it means the same. */
export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.8"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      className="flex-none"
    >
      <path d={paths[name]} />
    </svg>
  );
}
