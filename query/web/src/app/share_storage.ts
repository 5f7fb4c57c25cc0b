// Access to shared dashboards with a password, kept by this browser until it ends; a frame of another site may have no storage.
interface Kept {
  access: string;
  /** ISO 8601. */
  expires: string;
}

const nameOf = (link: string): string => `tidemark.share.${link}`;

export function keepAccess(link: string, { access, expires }: Kept): void {
  withStorage((storage) => storage.setItem(nameOf(link), JSON.stringify({ access, expires })));
}

export function dropAccess(link: string): void {
  withStorage((storage) => storage.removeItem(nameOf(link)));
}

/** The access text; null when there is none, or when it has ended. */
export function keptAccess(link: string): string | null {
  const text = withStorage((storage) => storage.getItem(nameOf(link)));
  if (!text) return null;
  const { access, expires } = JSON.parse(text) as Kept;
  if (Date.parse(expires) > Date.now()) return access;
  dropAccess(link);
  return null;
}

function withStorage<Value>(work: (storage: Storage) => Value): Value | null {
  try {
    return work(localStorage);
  } catch {
    return null;
  }
}
