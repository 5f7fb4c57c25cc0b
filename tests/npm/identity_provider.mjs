// An identity provider for tests: `node identity_provider.mjs PORT CONFIGURATION`. It prints "ready"
// and ends with its standard input. CONFIGURATION is JSON: the client, and claims by login.
import Provider from "oidc-provider";

const port = Number(process.argv[2]);
const { client, people, idTokenHasAll } = JSON.parse(process.argv[3]);

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [client],
  claims: {
    openid: ["sub"],
    email: ["email", "email_verified"],
    profile: ["name", "groups"],
  },
  conformIdTokenClaims: !idTokenHasAll,
  findAccount: (_context, login) => ({
    accountId: login,
    claims: () => ({ sub: login, ...people[login] }),
  }),
});

provider.listen(port, "127.0.0.1", () => console.log("ready"));
process.stdin.resume().on("end", () => process.exit());
