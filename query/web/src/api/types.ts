// Names for the types of the OpenAPI document.
import type { components } from "../../generated/openapi";

export type Schemas = components["schemas"];
export type RowsByType = Schemas["RowsByQueryType"];
export type QueryType = keyof RowsByType;
/** A row of a query type. */
export type Row<Name extends QueryType> = NonNullable<RowsByType[Name]> extends (infer One)[] ? One : never;
export type Me = Schemas["MeResponse"];
export type Website = Schemas["OwnWebsite"];
