import type { ComponentProps, MouseEvent } from "react";

export type ButtonProps = ComponentProps<"button"> & {
  look?: "primary" | "quiet" | "danger" | "bare";
  small?: boolean;
  /** Shows work under way. The button keeps its focus and ignores presses. */
  busy?: boolean;
};

export function Button({ look = "quiet", small, busy = false, ...props }: ButtonProps) {
  const { children, className = "", onClick, type = "button", ...rest } = props;
  // `disabled` would drop the keyboard's focus to the page while an answer is awaited.
  const press = (event: MouseEvent<HTMLButtonElement>) => {
    if (busy) event.preventDefault();
    else onClick?.(event);
  };
  return (
    <button
      {...rest}
      type={type}
      onClick={press}
      aria-disabled={busy}
      className={`button button-${look} ${small ? "button-small" : ""} ${className}`}
    >
      {busy && <span className="spinner" aria-hidden="true" />}
      {children}
    </button>
  );
}
