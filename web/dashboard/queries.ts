// Loads and changes the data of the pages. All data is in one cache, with one key per kind of data.

import {
  keepPreviousData,
  QueryCache,
  QueryClient,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { type Account, api, type Origins } from "./api.ts";
import { Problem } from "./request.ts";

const signOutKey = ["sign-out"];

const isUnauthorized = (error: unknown) => error instanceof Problem && error.status === 401;

export const queryClient = new QueryClient({
  queryCache: new QueryCache({
    // If the session ends while a page is open, shows the sign-in form.
    onError: (error) => {
      const isLeaving = queryClient.isMutating({ mutationKey: signOutKey }) > 0;
      if (isUnauthorized(error) && isSignedIn() && !isLeaving) endSession("ended");
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (count, error) => count < 1 && error instanceof Problem && error.status >= 500,
    },
    mutations: {
      // Removes the request and the response from the cache when the form closes. Either may
      // contain a password or a key.
      gcTime: 0,
      onError: (error) => {
        if (isUnauthorized(error) && isSignedIn()) endSession("ended");
      },
    },
  },
});

const isSignedIn = () => Boolean(queryClient.getQueryData(["session"]));

/**
 * Removes all data of the account from the cache. The next user of this browser must not see it.
 */
function endSession(why: "ended" | "left") {
  queryClient.removeQueries({ predicate: ({ queryKey }) => !isPublic(queryKey[0]) });
  queryClient.setQueryData(["session-ended"], why === "ended");
  queryClient.setQueryData(["session"], null);
}

const isPublic = (key: unknown) => ["session", "config", "session-ended"].includes(String(key));

/** Signs out. Queries that fail in the meantime do not report that the session has ended. */
export const useSignOut = () =>
  useMutation({
    mutationKey: signOutKey,
    mutationFn: api.signOut,
    onSuccess: () => endSession("left"),
  });

/** The signed-in account, or null if nobody is signed in. */
export const useSession = () =>
  useQuery<Account | null>({
    queryKey: ["session"],
    queryFn: async () => (await api.session()).account,
    staleTime: 60_000,
  });

/** True if the session ended although the user did not sign out. */
export const useSessionEnded = () =>
  useQuery({ queryKey: ["session-ended"], queryFn: () => false, staleTime: Infinity }).data ===
  true;

export const useConfig = () =>
  useQuery({ queryKey: ["config"], queryFn: api.config, staleTime: Infinity });

export const useCredentials = () =>
  useQuery({ queryKey: ["credentials"], queryFn: api.credentials });

export const useOrigins = () => useQuery({ queryKey: ["origins"], queryFn: api.origins });

/** The number of days for which payments are shown. */
export const moneyDays = 30;
/** The interval at which the page polls while the server is still adding up the amounts. */
const countingMs = 500;

export const useMoney = () =>
  useQuery({
    queryKey: ["money", moneyDays],
    queryFn: () => api.money(moneyDays),
    refetchInterval: ({ state }) => (state.data?.isMore ? countingMs : false),
  });

export const useUsage = (hours: number) =>
  useQuery({
    queryKey: ["usage", hours],
    queryFn: () => api.usage(hours),
    placeholderData: keepPreviousData,
  });

export const useActivity = () =>
  useInfiniteQuery({
    queryKey: ["activity"],
    queryFn: ({ pageParam }) => api.activity(pageParam),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });

/**
 * Reloads the credentials after each change, even a failed one. Another user may have replaced the
 * credential that the page shows.
 */
export function useRotation<Shown, Answer>(rotate: (shown: Shown) => Promise<Answer>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: rotate,
    onSettled: () => client.invalidateQueries({ queryKey: ["credentials"] }),
  });
}

/**
 * Adds or removes an origin. The server responds to both changes with the new list of origins. This
 * list replaces the cached list.
 */
export function useOriginChange(change: (origin: string) => Promise<Origins>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: (list) => {
      client.setQueryData(["origins"], list);
      client.invalidateQueries({ queryKey: ["origin-verdict"] });
    },
  });
}

/**
 * Returns the server's decision about `text`. While the user types, returns the previous result.
 */
export function useVerdict<Answer>(
  of: "entry" | "origin",
  text: string,
  judge: (text: string, signal: AbortSignal) => Promise<Answer>,
): Answer | undefined {
  const settled = useSettled(text.trim());
  const { data } = useQuery({
    queryKey: ["origin-verdict", of, settled],
    queryFn: ({ signal }) => judge(settled, signal),
    enabled: settled !== "",
    placeholderData: keepPreviousData,
  });
  return text.trim() === "" ? undefined : data;
}

/** Returns `value` once it has been unchanged for `ms`, so that typing causes only one request. */
export function useSettled<Value>(value: Value, ms = 150): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
