import { useMutation, useQueryClient } from "@tanstack/react-query";
import { toast } from "../../ui/toast.tsx";
import { sayProblem } from "../words/problems.ts";
import { useSpeech } from "../words/speech.ts";

/** Changes the webhooks and then reloads them. */
export function useChange<Input, Answer>(change: (input: Input) => Promise<Answer>) {
  const { say } = useSpeech();
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onError: (error) => toast(sayProblem(error, say)),
    onSettled: () => client.invalidateQueries({ queryKey: ["webhooks"] }),
  });
}
