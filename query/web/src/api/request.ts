// HTTP requests to the query service this page comes from, by the cookie of the sign-in or the token of a share.
import { signal } from "@preact/signals";

/** Set while a shared dashboard is open. */
export const shareAccess = signal<string | null>(null);

export class RequestError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly retryAfter: number | null = null,
  ) {
    super(message);
  }
}

export interface RequestOptions {
  method?: string;
  body?: unknown;
  query?: Record<string, string | undefined>;
  signal?: AbortSignal;
}

export function pathWith(path: string, query: Record<string, string | undefined> = {}): string {
  const given = Object.entries(query).filter((each): each is [string, string] => each[1] !== undefined);
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

let forbidden = (): void => undefined;
/** What happens after each refusal with 403: what may be done can have changed while the page was open. */
export const whenForbidden = (run: () => void): void => void (forbidden = run);

/** The response; RequestError unless its status is a success. */
export async function send(path: string, options: RequestOptions = {}): Promise<Response> {
  const { method = options.body === undefined ? "GET" : "POST", body, query, signal } = options;
  const headers: Record<string, string> = { "X-Tidemark-Request": "1", Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (shareAccess.value) headers.Authorization = `Bearer ${shareAccess.value}`;
  let response: Response;
  try {
    const text = body === undefined ? undefined : JSON.stringify(body);
    response = await fetch(pathWith(path, query), { method, headers, body: text, signal });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new RequestError(0, "UNREACHABLE", "");
  }
  if (response.status === 403) forbidden();
  if (!response.ok) throw await errorOf(response);
  return response;
}

export async function fetchJson<Body>(path: string, options?: RequestOptions): Promise<Body> {
  const response = await send(path, options);
  return (response.status === 204 ? undefined : await response.json()) as Body;
}

interface Refused {
  success: false;
  status: number;
  code: string;
  error: string;
}

/** The answer to a form; RequestError for a refusal, which the browser does not log as an error of the page. */
export async function submitForm<Body>(path: string, body: unknown, method = "POST"): Promise<Body> {
  const answer = await fetchJson<Body | Refused>(path, { method, body, query: { quiet: "true" } });
  if (isRefused(answer)) throw new RequestError(answer.status, answer.code, answer.error);
  return answer;
}

const isRefused = (answer: unknown): answer is Refused => (answer as Partial<Refused> | undefined)?.success === false;

async function errorOf(response: Response): Promise<RequestError> {
  const after = Number(response.headers.get("Retry-After")) || null;
  const body = (await response.json().catch(() => ({}))) as { error?: string; code?: string };
  return new RequestError(response.status, body.code ?? "", body.error ?? response.statusText, after);
}
