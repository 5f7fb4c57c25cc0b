// Questions of metrics and dimensions, or custom queries of rows; both can be saved.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { hasRecords, timezone } from "../api/session";
import type { Loaded } from "../api/use";
import { AlertButton } from "../components/alert_button";
import { Card } from "../components/card";
import { customBody, CustomQuestion } from "../components/custom_question";
import { Icon } from "../components/icon";
import { useKnown, type WebsiteKnown } from "../components/known";
import { QuestionBuilder } from "../components/question_builder";
import { QuestionCard } from "../components/question_card";
import { AllLink, isOpen, type Saved, SavedActions, SavedList, type SavedPart, useExplorations } from "../components/saved_explorations";
import { Async, Empty, Failed, Skeleton } from "../components/states";
import { address, go, goOwn } from "../state/address";
import { watchOfCustom, watchOfQuestion } from "../state/alert_rules";
import { parseExploration, START } from "../state/exploration";
import { explorationOf } from "../state/exploration_words";
import { examples, reasonAgainst } from "../state/metric_fields";
import { fittedTo, formatQuestion, membersOf, NO_QUESTION, parseQuestion, type Question, questionOf, shapesOf } from "../state/question";
import { moreTexts } from "../texts.more";
import type { Schemas } from "../types";

const t = moreTexts.explore;
const SETTLE_MS = 250;
const TABS = [{ id: "metrics", label: t.tabs.metrics }, { id: "rows", label: t.tabs.rows }];

export default function Explore() {
  const { item } = address.value;
  const list = useExplorations();
  const [stored, setStored] = useState<Saved | null>(null);
  const listed = list.value?.find(({ id }) => id === item);
  // The list may be older than what was just stored.
  const saved = stored?.id === item && stored.updatedAt > (listed?.updatedAt ?? "") ? stored : listed;
  const changed = (record: Saved | null, withFilters: boolean) => {
    setStored(record);
    list.reload();
    // The filters of the page are part of what was saved.
    if (withFilters || record?.id !== item) go({ item: record?.id ?? "", own: {}, ...(withFilters ? { filters: [] } : {}) });
  };
  if (item && !saved) {
    return list.error ? <Failed error={list.error} retry={list.reload} />
      : list.value && !list.loading ? <Empty text={t.unknown} /> : <Skeleton lines={8} />;
  }
  return <Exploring key={item} saved={item ? saved! : null} list={list} changed={changed} />;
}

interface Shown {
  saved: Saved | null;
  list: Loaded<Saved[]>;
  changed: (saved: Saved | null, withFilters: boolean) => void;
}

function Exploring(shown: Shown) {
  const { saved, list } = shown;
  const { own } = address.value;
  const known = useKnown();
  const usual = own.q || (saved?.customQuery && !own.ask) ? "rows" : "metrics";
  const tab = TABS.find(({ id }) => id === own.tab)?.id ?? usual;
  // A saved one stays what it is: the other kind begins a new one.
  const choose = (id: string) => id !== tab && (saved ? go({ item: "", own: id === "rows" ? { tab: id } : {} }) : goOwn({ tab: id === usual ? "" : id, shape: "" }));
  const isEmpty = tab === "metrics" && !saved && !(own.ask && parseQuestion(own.ask));
  return (
    <>
      <div class="explore-head">
        <span class="segmented" role="group" aria-label={t.kind}>
          {TABS.map(({ id, label }) => (
            <button key={id} type="button" aria-pressed={id === tab} onClick={() => choose(id)}>{label}</button>
          ))}
        </span>
        {isOpen() && <AllLink />}
      </div>
      {tab === "rows" ? <Custom {...shown} /> : (
        <Async loaded={known} lines={8}>{(value) => <Metrics {...shown} known={value} />}</Async>
      )}
      {isEmpty && (known.value ?? known.error) && hasRecords() && <SavedList list={list} known={{ goals: known.value?.goals ?? [] }} />}
    </>
  );
}

function Custom({ saved, changed }: Shown) {
  const { own } = address.value;
  const base = saved?.customQuery ? explorationOf(saved.customQuery) : START;
  const exploration = (own.q && parseExploration(own.q)) || base;
  if (!exploration) return <Empty text={t.madeElsewhere} />;
  const shape = own.shape || saved?.shape || "";
  const part: SavedPart = { customQuery: customBody(exploration), metricsQuery: null, shape: (shape || null) as SavedPart["shape"] };
  return (
    <CustomQuestion title={saved?.name ?? t.question} exploration={exploration} shape={shape} actions={
      <>
        <AlertButton watch={watchOfCustom(part.customQuery)} goals={[]} saved={own.q ? undefined : saved?.name} />
        <SavedActions saved={saved} part={part} edited={Boolean(own.q || own.shape)} changed={changed} discard={() => go({ own: {} })} />
      </>} />
  );
}

/** A text that has not changed for a moment; at once where there was none. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled || text;
}

function Metrics({ saved, changed, known }: Shown & { known: WebsiteKnown }) {
  const { own, period, filters } = address.value;
  const base = saved?.metricsQuery ? questionOf(saved.metricsQuery) : null;
  const question = fittedTo((own.ask && parseQuestion(own.ask)) || base || NO_QUESTION, period, timezone.value);
  const change = (asked: Question) => {
    const text = formatQuestion(asked);
    const isBase = base !== null && text === formatQuestion(base);
    goOwn({ ask: isBase ? "" : text || (base ? "{}" : ""), shape: "", tab: "" });
  };
  const settled = useSettled(question.metrics.length ? JSON.stringify(question) : "");
  const answered = settled && question.metrics.length ? (JSON.parse(settled) as Question) : null;
  const waits = answered !== null && settled !== JSON.stringify(question);
  const part: SavedPart | null = question.metrics.length ? {
    metricsQuery: membersOf({ ...question, filters: [...question.filters, ...filters] }) as unknown as Schemas["MetricsRequest"],
    customQuery: null, shape: (own.shape || saved?.shape || null) as SavedPart["shape"],
  } : null;
  const watch = part && watchOfQuestion({ ...question, filters: [...question.filters, ...filters] }, known.currencies);
  return (
    <>
      <Card title={saved?.name ?? t.question} className="wide" actions={
        <>
          <AlertButton watch={watch} goals={known.goals} saved={own.ask ? undefined : saved?.name} isMixed={part !== null && !watch} />
          <SavedActions saved={saved} part={part} edited={Boolean(own.ask || own.shape)} changed={changed} discard={() => go({ own: {} })} />
        </>}>
        {saved?.description && <p class="quiet">{saved.description}</p>}
        <QuestionBuilder known={known} question={question} change={change} />
      </Card>
      {answered ? <div class="settling" aria-busy={waits}><Answered {...{ known, change }} question={answered} shape={own.shape || saved?.shape || ""} /></div>
        : question.dimensions.length > 0 ? <Empty text={t.pickMetric} />
          : <Examples known={known} change={change} />}
    </>
  );
}

function Answered({ known, question, shape, change }: { known: WebsiteKnown; question: Question; shape: string; change: (question: Question) => void }) {
  const [usual] = shapesOf(question);
  return <QuestionCard {...{ known, question, shape, change }} onShape={(id) => goOwn({ shape: id === usual && !shape ? "" : id })} />;
}

function Examples({ known, change }: { known: WebsiteKnown; change: (question: Question) => void }): ComponentChildren {
  return (
    <Card title={t.begin} className="wide">
      <div class="examples">
        {examples(known, known.order).map(({ id, icon, question }) => {
          const asked = { ...NO_QUESTION, ...question };
          const reason = reasonAgainst(asked, address.value.filters, known);
          return (
            <button key={id} type="button" class="example" disabled={reason !== null} onClick={() => change(asked)}>
              <Icon name={icon} size={18} />
              <span><b>{t.examples[id]}</b><small>{reason ?? t.exampleHints[id]}</small></span>
            </button>
          );
        })}
      </div>
    </Card>
  );
}
