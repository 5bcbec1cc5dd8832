import type { ComponentProps, MouseEvent } from "react";

export type ButtonProps = ComponentProps<"button"> & {
  look?: "primary" | "quiet" | "danger" | "bare";
  small?: boolean;
  /**
   * True while the button's action is in progress. A busy button shows a spinner, keeps its focus,
   * and ignores presses.
   */
  busy?: boolean;
};

export function Button({ look = "quiet", small, busy = false, ...props }: ButtonProps) {
  const { children, className = "", onClick, type = "button", ...rest } = props;
  // `disabled` would move the keyboard focus to the page while the action is in progress.
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
