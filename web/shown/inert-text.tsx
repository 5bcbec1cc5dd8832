import { inertPieces } from "executable-address-element/page";
import { useSpeech } from "./words/say.tsx";

/** Shows untrusted text without markup. Hidden characters are escaped. */
export function InertText({ text, dir }: { text: string; dir?: "ltr" }) {
  const { say } = useSpeech();
  return (
    <bdi dir={dir} className="wrap-anywhere">
      {inertPieces(text).map((piece, index) =>
        piece.hidden ? (
          <span
            key={index.toString()}
            className="rounded bg-warn-wash px-1 text-warn"
            title={say("wouldNotShow")}
          >
            {piece.text}
          </span>
        ) : (
          piece.text
        ),
      )}
    </bdi>
  );
}
