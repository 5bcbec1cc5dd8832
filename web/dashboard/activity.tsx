// The page with the account's audit log.

import { Button } from "../ui/button.tsx";
import { Empty } from "../ui/states.tsx";
import { Heading } from "./heading.tsx";
import { Table } from "./parts/table.tsx";
import { Time } from "./parts/time.tsx";
import { useActivity } from "./queries.ts";
import { QueryState } from "./query-state.tsx";
import { useSpeech } from "./words/speech.ts";
import { en, type Key, type Say } from "./words/words.ts";

export function ActivityPage() {
  const { say } = useSpeech();
  const activity = useActivity();
  const rows = activity.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <>
      <Heading title={say("activity")}>{say("activityText")}</Heading>
      <QueryState query={activity} lines={6} inCard />
      {activity.data && (
        <div className="card">
          {rows.length === 0 ? (
            <Empty icon="clock" title={say("noActivity")}>
              {say("noActivityText")}
            </Empty>
          ) : (
            <Table
              caption={say("activity")}
              rows={rows.map((row, index) => ({ ...row, index }))}
              keyOf={({ index }) => String(index)}
              columns={[
                { head: say("what"), cell: ({ event }) => sayEvent(event, say) },
                {
                  head: say("detail"),
                  cell: ({ detail }) =>
                    detail ? <code className="break-all">{detail}</code> : <Nothing />,
                },
                { head: say("fromWhere"), cell: ({ ip }) => ip ?? <Nothing /> },
                { head: say("when"), cell: ({ at }) => <Time at={at} /> },
              ]}
            />
          )}
          {activity.hasNextPage && (
            <div className="border-t border-line p-4 text-center">
              <Button
                busy={activity.isFetchingNextPage}
                onClick={() => void activity.fetchNextPage()}
              >
                {say("showOlder")}
              </Button>
            </div>
          )}
        </div>
      )}
    </>
  );
}

const Nothing = () => <span className="text-soft">–</span>;

/** Returns the text of an event in the audit log. If there is no text, returns the event's code. */
const sayEvent = (event: string, say: Say) => {
  const key = `event_${event}`;
  return key in en ? say(key as Key) : event;
};
