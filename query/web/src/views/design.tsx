// Every element of the design system, in both themes side by side; DESIGN.md says when each is used.
import type { ComponentChildren } from "preact";
import icons from "../../generated/icons.json";
import images from "../../generated/images.json";
import { BarList } from "../components/bar_list";
import { Card, Tabs } from "../components/card";
import { Change } from "../components/change";
import { DataTable } from "../components/data_table";
import { Icon } from "../components/icon";
import { DeviceIcon, Flag, Logo } from "../components/logo";
import { MenuItem, Popover } from "../components/popover";
import { Sparkline } from "../components/sparkline";
import { Empty, Skeleton } from "../components/states";
import { formatNumber } from "../state/format";
import { texts } from "../texts";
import { moreTexts } from "../texts.more";
import type { IconName } from "../types";

const t = moreTexts.design;
const SURFACES = ["back", "surface", "raised", "hover", "sunken", "chosen", "accent-fill", "warn-fill", "bar"];
const INKS = ["text", "quiet", "accent", "better", "worse", "warn", "mark", "strong-line", "bar-mark", "series-before"];
const SERIES = [1, 2, 3, 4, 5, 6].map((n) => `series-${n}`);
const HEAT = [1, 2, 3, 4, 5, 6].map((n) => `heat-${n}`);
const TYPE = ["figure", "title", "large", "body", "small"];
const FLAGS = ["DE", "US", "FR", "JP", "BR", "IN", "ZA", "AU"];
const ROWS = [{ name: "/pricing", visitors: 1204, change: 12.4 }, { name: "/docs/install", visitors: 318, change: -4.1 }];

export default function Design() {
  return (
    <div class="cards">
      {(["light", "dark"] as const).map((scheme) => (
        <div key={scheme} class="scheme" style={{ colorScheme: scheme }}>
          <Elements />
        </div>
      ))}
    </div>
  );
}

function Elements() {
  return (
    <>
      <Section title={t.colors}>
        <Swatches names={SURFACES} /><Swatches names={INKS} /><Swatches names={SERIES} /><Swatches names={HEAT} />
      </Section>
      <Section title={t.type}>
        {TYPE.map((size) => <p key={size} style={{ fontSize: `var(--text-${size})` }}>{`${size} 1,234.5`}</p>)}
        <p class="quiet">{texts.states.empty}</p>
      </Section>
      <Section title={t.icons}>
        <p class="samples">{(Object.keys(icons) as IconName[]).map((name) => <span key={name} title={name}><Icon name={name} size={18} /></span>)}</p>
        <p class="samples">{Object.keys(images.logos).map((name) => <span key={name} title={name}><Logo name={name} /></span>)}</p>
        <p class="samples">{FLAGS.map((code) => <Flag key={code} country={code} />)}{["desktop", "mobile", "tablet"].map((device) => <DeviceIcon key={device} device={device} />)}</p>
      </Section>
      <Section title={t.controls}>
        <p class="samples">
          <button type="button" class="button primary">{texts.filters.apply}</button>
          <button type="button" class="button">{texts.filters.cancel}</button>
          <button type="button" class="button danger"><Icon name="trash-2" />{texts.goals.remove}</button>
          <button type="button" class="quiet-button"><Icon name="download" />CSV</button>
          <button type="button" class="button" disabled>{texts.filters.save}</button>
          <Popover label={<Icon name="ellipsis" />} name={texts.app.more} className="icon">
            {(close) => <MenuItem onClick={close}><Icon name="code" />{texts.request.open}</MenuItem>}
          </Popover>
        </p>
        <Tabs tabs={["daily", "weekly", "monthly"].map((id) => ({ id, label: texts.period.granularities[id]! }))} chosen="daily" choose={() => undefined} />
        <span class="segmented" role="group">
          <button type="button" aria-pressed="true"><Icon name="chart-line" /></button><button type="button" aria-pressed="false"><Icon name="chart-column" /></button>
        </span>
        <label>{texts.filters.value}<input placeholder={texts.breakdowns.search} /></label>
        <label class="check"><input type="checkbox" checked />{texts.period.bots}</label>
        <p class="samples"><span class="chip"><button type="button" class="chip-text">{texts.filters.fields.path}</button><button type="button" class="chip-remove" aria-label={texts.filters.clear}><Icon name="x" size={14} /></button></span></p>
      </Section>
      <Card title={t.numbers} definition={t.definition}>
        <div class="totals">
          {ROWS.map(({ name, visitors, change }, i) => (
            <div key={name} class={`total ${i ? "" : "chosen"}`}>
              <button type="button" aria-pressed={!i}>
                <span class="total-label">{texts.metrics.visitors}</span><span class="total-value">{formatNumber(visitors)}</span>
                <Change percent={change} before="enough" was={formatNumber(1071)} />
              </button>
            </div>
          ))}
        </div>
        <BarList nameLabel={texts.breakdowns.pages} valueLabel={texts.metrics.visitors}
          bars={ROWS.map(({ name, visitors }) => ({ key: name, name, value: visitors, image: <Icon name="file-text" className="logo" /> }))} />
        <DataTable label={texts.breakdowns.pages} rows={ROWS} rowKey={({ name }) => name} columns={[
          { key: "name", label: texts.breakdowns.pages, render: ({ name }) => name },
          { key: "visitors", label: texts.metrics.visitors, number: true, render: ({ visitors }) => formatNumber(visitors) },
          { key: "line", label: texts.views.overview, render: () => <Sparkline values={[3, 5, 4, 8, 7, 9, 12]} label={texts.metrics.visitors} /> },
        ]} />
      </Card>
      <Section title={t.states}>
        <Skeleton lines={2} /><Empty /><p class="notice">{texts.app.stale}</p>
      </Section>
    </>
  );
}

const Section = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <section class="card commands" aria-label={title}><h2>{title}</h2>{children}</section>
);

const Swatches = ({ names }: { names: string[] }) => (
  <p class="swatches">{names.map((name) => <span key={name}><i style={{ background: `var(--${name})` }} /><small>{name}</small></span>)}</p>
);
