// A component that is loaded when it is first drawn.
import type { ComponentChildren, ComponentType } from "preact";
import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { loadPart } from "../app/load_part";

const Fallback = createContext<ComponentChildren>(null);

export function lazy<Props extends object>(load: () => Promise<{ default: ComponentType<Props> }>): ComponentType<Props> {
  let loaded: ComponentType<Props> | null = null;
  return function Lazy(props: Props) {
    const fallback = useContext(Fallback);
    const [, setReady] = useState(loaded !== null);
    useEffect(() => {
      if (!loaded) void loadPart(load).then((module) => { loaded = module.default; setReady(true); });
    }, []);
    const Shown = loaded;
    return Shown ? <Shown {...props} /> : <>{fallback}</>;
  };
}

export function Suspense({ fallback, children }: { fallback: ComponentChildren; children: ComponentChildren }) {
  return <Fallback.Provider value={fallback}>{children}</Fallback.Provider>;
}
