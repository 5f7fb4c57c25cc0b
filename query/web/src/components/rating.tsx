// A value of a web vital with its rating, in color and in words; and shares of the ratings as one bar.
import { formatPercent } from "../format";
import { formatVital, type Rating, ratingOf, RATINGS, type Vital } from "../state/vitals";
import { texts } from "../texts";

const t = texts.vitals;

export function RatedValue({ vital, value }: { vital: Vital; value: number | null | undefined }) {
  if (value === null || value === undefined) return <>–</>;
  const rating = ratingOf(vital, value);
  return <span class={`rated ${rating}`}>{formatVital(vital, value)} <small>{t.ratings[rating]}</small></span>;
}

export function RatingBar({ vital, shares }: { vital: string; shares: Record<Rating, number> }) {
  const text = RATINGS.map((rating) => `${t.ratings[rating]} ${formatPercent(shares[rating])}`).join(", ");
  return (
    <div class="ratings">
      <div class="rating-bar" role="img" aria-label={`${vital}: ${text}`}>
        {RATINGS.map((rating) => <span key={rating} class={rating} style={{ width: `${shares[rating]}%` }} title={t.ratings[rating]} />)}
      </div>
      <span class="quiet">{t.goodShare(formatPercent(shares.good))}</span>
    </div>
  );
}
