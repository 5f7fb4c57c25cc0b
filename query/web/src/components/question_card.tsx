// A question with its answer: what Explore draws, and a tile of a board.
import type { ComponentChildren } from "preact";
import { metricsFile, metricsRequest } from "../api/metrics";
import { address } from "../state/address";
import { dimensionText, type Known, questionText, reasonAgainst, termText } from "../state/metric_fields";
import { columnsOf, type Question, shapesOf } from "../state/question";
import { moreTexts } from "../texts.more";
import { Card } from "./card";
import { askOf, isCompared, QuestionResult } from "./question_result";
import type { AnswerField } from "./request_dialog";
import { Empty } from "./states";

const t = moreTexts.explore;

export function QuestionCard({ title, known, question, shape: chosen, onShape, change, actions }: {
  /** By default what is asked, in words. */
  title?: string;
  known: Known;
  question: Question;
  /** How it is drawn, if it can be; empty as it fits. */
  shape: string;
  onShape: (shape: string) => void;
  change: (question: Question) => void;
  actions?: ComponentChildren;
}) {
  const possible = shapesOf(question);
  const shape = possible.find((each) => each === chosen) ?? possible[0]!;
  const reason = reasonAgainst(question, address.value.filters, known);
  const ask = askOf(question, shape);
  const columns = columnsOf(question.metrics);
  const fields: AnswerField[] = [
    ...question.dimensions.map((name) => ({ label: dimensionText(name), field: name })),
    ...question.metrics.map((term, i) => ({ label: termText(term, known), field: columns[i]! })),
  ];
  const request = { ...metricsRequest({ ...ask, compared: isCompared(question) }), answer: { rows: "data[]", fields } };
  return (
    <Card title={title ?? questionText(question, known)} className="wide" request={request} tabs={possible.map((id) => ({ id, label: t.shapes[id] }))} tab={shape}
      onTab={onShape} actions={actions} load={reason ? undefined : () => metricsFile(ask)}>
      {reason ? <Empty text={reason} /> : <QuestionResult {...{ question, known, change }} shape={shape} />}
    </Card>
  );
}
