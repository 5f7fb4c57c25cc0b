// Opened parts of a view, by name. They outlive the components of the view, which are rendered again with each response.
import { signal } from "@preact/signals";
import { address } from "../state/address";

const opened = signal<ReadonlySet<string>>(new Set());

/** Whether it is open in the view of the address, and how that is changed. */
export function useOpened(name: string): [isOpen: boolean, set: (isOpen: boolean) => void] {
  const key = `${address.value.view} ${name}`;
  const set = (isOpen: boolean) => {
    const others = [...opened.value].filter((each) => each !== key);
    opened.value = new Set(isOpen ? [...others, key] : others);
  };
  return [opened.value.has(key), set];
}
