// People, accounts and sign-in, as the API has them.
export type Role = "owner" | "admin" | "analyst" | "viewer";
export type WebsiteRole = Exclude<Role, "owner">;

/** How a browser can sign in. */
export interface SignInWays {
  password: boolean;
  oidc: { name: string; url: string } | null;
  /** A proxy in front of the service names who it is. */
  proxy: boolean;
  /** Links can be mailed. */
  mail: boolean;
}

export type SignInBody = { key: string } | { token: string } | { email: string; password: string; code?: string } | { proxy: true };

/** A member of the organization, or somebody who is invited to it. */
export interface Person {
  id: string;
  organizationId: string;
  email: string;
  name: string;
  role: Role | null;
  websiteRoles: Record<string, WebsiteRole>;
  state: "invited" | "active";
  secondFactor: boolean;
  lastSignInAt: string | null;
  createdAt: string;
  updatedAt: string;
}

/** A link that was mailed, or that is shown once. */
export interface SentLink {
  link: string | null;
  mailed: boolean;
  problem: string | null;
  expires: string;
}

export interface Invitation {
  email: string;
  organization: string;
  role: Role | null;
  websites: string[];
  invitedBy: string;
  hasAccount: boolean;
  expires: string;
}

export interface Account {
  email: string;
  name: string;
  hasPassword: boolean;
  secondFactor: boolean;
  recoveryCodes: number;
  secondFactorRequired: boolean;
  organizations: { id: string; name: string; role: Role | null; current: boolean }[];
}

/** A sign-in of an account in one browser. */
export interface AccountSession {
  id: string;
  current: boolean;
  createdAt: string;
  lastSeenAt: string;
  expiresAt: string;
  browser: string;
  network: string;
  way: "password" | "oidc" | "proxy" | "invitation";
}

/** A secret that is not in force before a code of it was sent. */
export interface NewSecondFactor {
  secret: string;
  uri: string;
  /** Image as a data URI. */
  qr: string;
}
