// Names for the types of the OpenAPI document.
import type icons from "../generated/icons.json";
import type { components, operations } from "../generated/openapi";

export type Schemas = components["schemas"];
export type RowsByType = Schemas["RowsByQueryType"];
export type QueryType = keyof RowsByType;
/** A row of a query type. */
export type Row<Name extends QueryType> = NonNullable<RowsByType[Name]> extends (infer One)[] ? One : never;
/** What the audit trail has changes of. */
export type AuditKind = NonNullable<NonNullable<operations["listChanges"]["parameters"]["query"]>["kind"]>;
export type Me = Schemas["MeResponse"];
export type Website = Schemas["OwnWebsite"];
/** An icon of icons.js. */
export type IconName = keyof typeof icons;
