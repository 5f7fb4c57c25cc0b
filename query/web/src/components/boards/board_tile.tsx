// One tile of a board: a saved exploration, a card of the overview, or a text.
import { useState } from "preact/hooks";
import { timezone } from "../../api/session";
import type { Loaded } from "../../api/use";
import { address, addressWith, follow } from "../../state/address";
import type { CardName, Tile } from "../../state/board";
import { GROUPS } from "../../state/breakdowns";
import { explorationOf } from "../../state/exploration_words";
import { fittedTo, type Question, questionOf } from "../../state/question";
import { moreTexts } from "../../texts.more";
import { BreakdownCard } from "../breakdown_card";
import { Card } from "../card";
import { CustomResult } from "../custom_question";
import { GoalsCard } from "../goals_card";
import { Icon } from "../icon";
import type { WebsiteKnown } from "../known";
import { QuestionCard } from "../question_card";
import type { Saved } from "../saved_explorations";
import { Async, Empty } from "../states";
import { TotalsCard, useTotalSeries } from "../totals_card";

const t = moreTexts.boards;
/** The group of breakdowns that each card has. */
const GROUP_OF: Record<Exclude<CardName, "visitors" | "goals">, string> = {
  pages: "pages", sources: "sources", countries: "places", devices: "devices", events: "actions",
};

/** What a tile is called: its title, or what it shows. */
export function tileName({ title, exploration, card }: Tile, explorations: Saved[]): string {
  if (title) return title;
  if (card) return t.cards[card as CardName] ?? card;
  return exploration ? explorations.find(({ id }) => id === exploration)?.name ?? t.gone : t.text;
}

export function BoardTile({ tile, explorations, known }: { tile: Tile; explorations: Saved[]; known: Loaded<WebsiteKnown> }) {
  const title = tileName(tile, explorations);
  if (tile.card) return <OverviewCard card={tile.card as CardName} title={title} />;
  const saved = explorations.find(({ id }) => id === tile.exploration);
  if (saved) return <ExplorationTile saved={saved} title={title} known={known} />;
  return (
    <section class="card board-text" aria-label={title}>
      {(tile.title || tile.exploration) && <h2>{title}</h2>}
      {tile.exploration ? <Empty text={moreTexts.explore.unknown} /> : tile.text?.split(/\n{2,}/).map((text, i) => <p key={i}>{text}</p>)}
    </section>
  );
}

function OverviewCard({ card, title }: { card: CardName; title: string }) {
  if (card === "visitors") return <Totals title={title} />;
  if (card === "goals") return <GoalsCard title={title} empty={<Card title={title}><Empty text={t.noGoals} /></Card>} />;
  return <BreakdownCard group={GROUPS.find(({ id }) => id === GROUP_OF[card])!} title={title} />;
}

const Totals = ({ title }: { title: string }) => <TotalsCard title={title} series={useTotalSeries()} />;

interface Shown {
  saved: Saved;
  title: string;
  known: Loaded<WebsiteKnown>;
}

/** As Explore draws it; another shape, order or limit stays until the board is left. */
function ExplorationTile({ saved, title, known }: Shown) {
  const [shape, setShape] = useState("");
  const link = (
    <a class="icon" href={addressWith({ view: "explore", item: saved.id, own: {} })} onClick={follow} aria-label={t.explore(title)} title={t.explore(title)}>
      <Icon name="compass" />
    </a>
  );
  const shown = { title, shape: shape || saved.shape || "", onShape: setShape, actions: link };
  const question = saved.metricsQuery && questionOf(saved.metricsQuery);
  const exploration = saved.customQuery && explorationOf(saved.customQuery);
  if (exploration) return <CustomResult {...shown} exploration={exploration} />;
  if (!question) return <Card title={title} actions={link}><Empty text={moreTexts.explore.madeElsewhere} /></Card>;
  if (!known.value) return <Card title={title} actions={link}><Async loaded={known} lines={8}>{() => null}</Async></Card>;
  return <QuestionTile {...shown} known={known.value} base={question} />;
}

function QuestionTile({ base, ...shown }: Omit<Parameters<typeof QuestionCard>[0], "question" | "change"> & { base: Question }) {
  const [changed, change] = useState<Question | null>(null);
  return <QuestionCard {...shown} question={fittedTo(changed ?? base, address.value.period, timezone.value)} change={change} />;
}
