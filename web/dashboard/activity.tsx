import { Button } from "../ui/button.tsx";
import { Empty } from "../ui/states.tsx";
import { Table } from "../ui/table.tsx";
import { Time } from "../ui/time.tsx";
import { Heading } from "./heading.tsx";
import { useActivity } from "./queries.ts";
import { QueryState } from "./query-state.tsx";

export function ActivityPage() {
  const activity = useActivity();
  const rows = activity.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <>
      <Heading title="Activity">
        Who did what to this account, newest first. Nothing here can be changed or removed.
      </Heading>
      <QueryState query={activity} lines={6} inCard />
      {activity.data && (
        <div className="card">
          {rows.length === 0 ? (
            <Empty icon="clock" title="Nothing yet">
              Sign-ins, rotations and changes of origins show here.
            </Empty>
          ) : (
            <Table
              caption="Activity"
              rows={rows.map((row, index) => ({ ...row, index }))}
              keyOf={({ index }) => String(index)}
              columns={[
                { head: "What", cell: ({ event }) => sayEvent(event) },
                {
                  head: "Detail",
                  cell: ({ detail }) =>
                    detail ? <code className="break-all">{detail}</code> : <Nothing />,
                },
                { head: "From", cell: ({ ip }) => ip ?? <Nothing /> },
                { head: "When", cell: ({ at }) => <Time at={at} /> },
              ]}
            />
          )}
          {activity.hasNextPage && (
            <div className="border-t border-line p-4 text-center">
              <Button
                busy={activity.isFetchingNextPage}
                onClick={() => void activity.fetchNextPage()}
              >
                Show older
              </Button>
            </div>
          )}
        </div>
      )}
    </>
  );
}

const Nothing = () => <span className="text-soft">–</span>;

/** `api_key_rotated` is "Api key rotated": event names are written to be read. */
const sayEvent = (event: string) => {
  const words = event.replaceAll(/[._-]/g, " ");
  return (words.charAt(0).toUpperCase() + words.slice(1))
    .replace(/^Api/, "API")
    .replace(/^Client id/, "Client ID");
};
