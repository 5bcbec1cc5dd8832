import { useMutation, useQueryClient } from "@tanstack/react-query";
import { toast } from "../../ui/toast.tsx";
import { sayProblem } from "../problems.ts";

/** Runs a change of the webhooks, then shows what is there now. */
export function useChange<Input, Answer>(change: (input: Input) => Promise<Answer>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onError: (error) => toast(sayProblem(error)),
    onSettled: () => client.invalidateQueries({ queryKey: ["webhooks"] }),
  });
}
