// Who is behind a number: the visitors of a funnel step, a goal, a cohort or a path.
import { useState } from "preact/hooks";
import type { Ask } from "../api/ask";
import { timezone } from "../api/session";
import { useAnswer } from "../api/use";
import { formatInstant, formatNumber } from "../state/format";
import { texts } from "../texts";
import { moreTexts } from "../texts.more";
import { DataTable, Pages } from "./data_table";
import { Dialog } from "./dialog";
import { DownloadCsv, loadCsv } from "./download";
import { Country, Device } from "./seen_with";
import { Async } from "./states";
import { VisitorLink, visitorName } from "./visitor_name";
import { VISITOR_FILE } from "./visitor_table";

const ROWS = 25;
const t = moreTexts.visitorsDialog;

export function VisitorsDialog({ title, of, close }: {
  title: string;
  /** The option `of` of the query type `visitors`. */
  of: Record<string, unknown>;
  close: () => void;
}) {
  const [page, setPage] = useState(1);
  const ask: Ask<"visitors"> = { name: "visitors", options: { of, limit: ROWS, page } };
  const loaded = useAnswer(ask);
  return (
    <Dialog title={title} close={close} wide>
      <Async loaded={loaded} isEmpty={({ rows }) => !rows.length}>
        {({ rows, total }) => (
          <>
            <div class="dialog-line">
              <p class="quiet">{t.count(total, formatNumber(total))}</p>
              <DownloadCsv title={title} load={() => loadCsv(ask, VISITOR_FILE)} />
            </div>
            <DataTable label={title} rows={rows} rowKey={(row) => row.visitor_id} columns={[
              { key: "visitor", label: t.visitor, className: "whole", render: (row) => <VisitorLink id={row.visitor_id} name={visitorName(row.traits, row.profile_id)} /> },
              { key: "country", extra: true, label: t.country, className: "nowrap", render: (row) => <Country code={row.country} /> },
              { key: "device", extra: true, label: t.device, className: "nowrap", render: (row) => <Device device={row.device_type} browser={row.browser_name} system={row.os_name} short /> },
              { key: "views", label: texts.metrics.pageviews, number: true, render: (row) => formatNumber(row.page_views) },
              { key: "last", extra: true, label: t.last, number: true, render: (row) => formatInstant(row.last_visit, timezone.value) },
            ]} />
            <Pages page={page} total={total} size={ROWS} go={setPage} />
          </>
        )}
      </Async>
    </Dialog>
  );
}
