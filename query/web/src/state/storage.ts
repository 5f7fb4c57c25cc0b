// What this browser keeps: nothing where storage is forbidden, as in a frame of another site.

export function withStorage<Value>(work: (storage: Storage) => Value): Value | null {
  try {
    return work(localStorage);
  } catch {
    return null;
  }
}

/** What was chosen of some, the first of which is the default. */
export function storedChoice<Choice extends string>(key: string, choices: readonly Choice[]): Choice {
  const text = withStorage((storage) => storage.getItem(key));
  return choices.find((each) => each === text) ?? choices[0]!;
}
