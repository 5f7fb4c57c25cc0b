// Makes an API key, and shows its text, which nobody sees again.
import { endOfDay } from "../../state/period";
import { moreTexts } from "../../texts.more";
import type { Schemas } from "../../types";
import { Snippet } from "../request_dialog";
import { FormDialog, type Input } from "./form_dialog";

export type CreatedKey = Schemas["CreatedApiKey"];
const t = moreTexts.setup;
export const SCOPES = ["track:events", "read:data", "read:links", "write:links", "write:records", "manage:websites", "erase:visitors", "admin"];

export function NewKeyDialog({ path, scopes, zone, website, close, done }: {
  path: string;
  /** Those that can be chosen. */
  scopes: string[];
  /** In whose days the key ends. */
  zone: string;
  /** The input `websiteId`, for keys that can be limited to a website. */
  website?: Input;
  close: () => void;
  done: (created: CreatedKey) => void;
}) {
  return (
    <FormDialog<Schemas["CreatedApiKeyResponse"]> title={t.addKey} method="POST" path={path} close={close} done={({ data }) => done(data)} submit={t.addKey}
      inputs={[
        { name: "name", label: t.name, required: true },
        { name: "scopes", label: t.scopes, value: "read:data", several: scopes.map((scope) => ({ value: scope, label: `${scope}: ${t.scopeHints[scope]}` })) },
        ...(website ? [website] : []),
        { name: "expiresAt", label: t.lastDay, help: t.optional, type: "date" },
      ]}
      body={({ name, scopes: chosen = "", websiteId, expiresAt }) => ({
        name, scopes: chosen.split(" ").filter(Boolean), expiresAt: endOfDay(expiresAt, zone), ...(website && { websiteId: websiteId || null }),
      })} />
  );
}

export function NewKeyText({ created }: { created: CreatedKey }) {
  return <div role="status"><p class="notice">{t.keyReady}</p><Snippet label={t.keyText} text={created.key} /></div>;
}
