// The page: sign-in, a shared dashboard, or the views of a website.
import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useKnownDays } from "../api/first_day";
import { RequestError } from "../api/request";
import { ALL, isShared, loadSession, may, me, showsRecoveryCodes, website } from "../api/session";
import { refresh } from "../api/use";
import { Boundary } from "../components/boundary";
import { FilterBar, FixedFilters } from "../components/filter_bar";
import { lazy, loadPart, reloadWhenReachable } from "../components/lazy";
import { PeriodBar } from "../components/period_bar";
import { Empty, Failed, forbiddenText, Skeleton, Unreachable } from "../components/states";
import { isolate } from "../isolate";
import { address, go } from "../state/address";
import { findBreakdown } from "../state/breakdowns";
import { findView, type View } from "../state/views";
import { texts } from "../texts";
import { keepFresh } from "./keep_fresh";
import { Help, listenToKeys } from "./keyboard";
import { loadView } from "./load_view";
import { isOfBase, mayOpen } from "./navigation";
import { Rail } from "./rail";

const t = texts.app;
const SignIn = lazy(() => import("../views/sign_in"));
const ResetPassword = lazy(() => import("../views/reset_password"));
const NewPassword = lazy(() => import("../views/new_password"));
const AcceptInvitation = lazy(() => import("../views/invitation"));
const Account = lazy(() => import("../views/account"));
const OpenShare = lazy(() => import("../views/open_share"));

/** Addresses that make a sign-in, and ask for none. */
const SIGNS_IN = ["sign-in", "invitation"];

export function App() {
  const [error, setError] = useState<RequestError | null>(null);
  const { base, view } = address.value;
  useEffect(() => {
    if (!SIGNS_IN.includes(base) && !isShared() && me.value === undefined) load(setError);
  }, [base]);
  if (error) return <main class="alone"><Failed error={error} retry={() => load(setError)} /></main>;
  if (isShared() && !me.value) return <OpenShare />;
  if (base === "invitation") return <AcceptInvitation />;
  if (base === "sign-in" && view === "reset") return <ResetPassword />;
  if (base === "sign-in" && view === "password") return <NewPassword />;
  if (base === "sign-in" || me.value === null) return <SignIn />;
  if (me.value && (base === "account" || me.value.person?.secondFactorNeeded || showsRecoveryCodes.value)) return <Account />;
  return <Dashboard />;
}

function load(setError: (error: RequestError | null) => void): void {
  setError(null);
  loadSession().catch((error) => setError(error as RequestError));
}

function Dashboard() {
  const { base, view: id, item } = address.value;
  const user = me.value;
  useEffect(() => listenToKeys(), []);
  useEffect(() => {
    if (!user || base) return;
    if (user.websites.length > 1) go({ base: ALL, view: "websites" }, { replace: true });
    else if (user.websites[0]) go({ base: user.websites[0].id }, { replace: true });
    else if (may("manage:websites")) go({ base: "new", view: "setup" }, { replace: true });
  }, [user, base]);
  const found = findView(id);
  const view = (isShared() && !found?.shared) || (found && !isOfBase(found)) ? undefined : found;
  useEffect(() => (view ? keepFresh(!view.manual) : undefined), [view]);
  const first = useRef(true);
  useEffect(() => {
    // On a page that was just loaded the first Tab goes to its beginning.
    if (!first.current && document.activeElement === document.body) document.getElementById("content")?.focus({ preventScroll: true });
    first.current = false;
  }, [base, id, item]);
  useEffect(() => {
    const parts = [view && titleOf(view, item), isolate(website.value?.name ?? ""), t.name];
    document.title = parts.filter(Boolean).join(" · ");
  }, [view, item, website.value]);
  return (
    <>
      <a class="skip" href="#content">{t.skip}</a>
      <div class="page">
        <Rail />
        <main id="content" tabIndex={-1}>
          {!user || !base ? (user && !user.websites.length ? <Empty text={user.person ? t.noWebsitesOfPerson : may("read:data") ? t.noWebsites : forbiddenText("read:data")} /> : <Skeleton lines={8} />)
            : !website.value && view?.id !== "setup" ? <Empty text={t.unknownWebsite} />
              : view ? <Boundary key={`${base} ${view.id}`}><ViewFrame view={view} /></Boundary> : <Empty text={t.unknownView} />}
        </main>
      </div>
      <Help />
    </>
  );
}

/** A list has the name of what it lists. */
const titleOf = (view: View, item: string): string => (view.id === "list" && findBreakdown(item)?.label) || view.label;

function ViewFrame({ view }: { view: View }) {
  const [Loaded, setLoaded] = useState<{ id: string; view: ComponentType } | null>(null);
  const [error, setError] = useState<RequestError | null>(null);
  useEffect(() => {
    setError(null);
    loadPart(() => loadView(view.id), view.id === "overview").then(
      (module) => setLoaded({ id: view.id, view: module.default }),
      () => setError(new RequestError(0, "UNREACHABLE", "")),
    );
  }, [view.id]);
  useEffect(() => (error ? reloadWhenReachable() : undefined), [error]);
  const daysKnown = useKnownDays();
  const { unread, filters, item } = address.value;
  const allowed = may("read:data") && mayOpen(view);
  const Shown = Loaded?.id === view.id ? Loaded.view : null;
  return (
    <>
      <header class="view-head">
        <h1>{titleOf(view, item)}</h1>
        {view.ranged && !view.unfiltered ? <FilterBar /> : <FixedFilters />}
        {view.ranged && <PeriodBar compares={view.compares === "item" ? item !== "" : view.compares ?? false} />}
      </header>
      <Unreachable retry={refresh} />
      {view.unfiltered && filters.length > 0 && <p class="notice">{t.unfiltered}</p>}
      {unread.length > 0 && <p class="notice unread" role="status">{t.unread(unread.join(", "))}</p>}
      {!allowed ? <Empty text={forbiddenText(may("read:data") ? view.scopes![0] : "read:data")} />
        : error ? <Failed error={error} retry={() => location.reload()} />
          : Shown && daysKnown ? <Shown /> : <Skeleton lines={8} />}
    </>
  );
}
