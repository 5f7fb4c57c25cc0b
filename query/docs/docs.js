// The API page: shows /openapi.json and lets its operations be tried. All text is set as text.
"use strict";

const byId = (id) => document.getElementById(id);

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children.filter((child) => child !== null));
  return made;
}

function table(rows) {
  const cells = (row) => row.map((cell) => element("td", {}, cell));
  return element("table", {}, ...rows.map((row) => element("tr", {}, ...cells(row))));
}

// What a schema takes, in a few words; a name leads to the shape further down.
function words(schema) {
  if (schema === undefined) return "any";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf) return schema.anyOf.map(words).join(" | ");
  if (schema.enum) return schema.enum.map((each) => JSON.stringify(each)).join(" | ");
  if (schema.type === "array") return `list of ${words(schema.items)}`;
  const bounds = [];
  for (const [name, sign] of [["minimum", "≥"], ["maximum", "≤"], ["maxLength", "length ≤"]]) {
    if (schema[name] !== undefined) bounds.push(`${sign} ${schema[name]}`);
  }
  return [schema.type ?? "any", ...bounds].join(" ");
}

function parameters(operation, fields) {
  return table(operation.parameters.map((parameter) => {
    const field = element("input", { value: parameter.example ?? "", placeholder: words(parameter.schema) });
    fields.push([parameter, field]);
    const name = element("code", {}, parameter.name + (parameter.required ? " *" : ""));
    return [name, field, element("span", { className: "quiet" }, parameter.description)];
  }));
}

// The body of a request: an editable text, filled with the example that is chosen.
function body(content) {
  const text = element("textarea", { spellcheck: false, ariaLabel: "body" });
  const examples = Object.entries(content.examples ?? {});
  const choice = element("select", { ariaLabel: "example" },
    ...examples.map(([name]) => element("option", {}, name)));
  const fill = () => {
    const chosen = examples[choice.selectedIndex];
    text.value = chosen ? JSON.stringify(chosen[1].value, null, 2) : "{}";
  };
  choice.onchange = fill;
  fill();
  return { text, shown: element("div", {}, examples.length ? choice : null, text) };
}

function target(path, fields) {
  const query = new URLSearchParams();
  for (const [parameter, field] of fields) {
    if (parameter.in === "path") {
      path = path.replace(`{${parameter.name}}`, encodeURIComponent(field.value));
    } else if (field.value !== "") {
      query.append(parameter.name, field.value);
    }
  }
  return query.size ? `${path}?${query}` : path;
}

async function attempt(method, path, fields, text, output) {
  const headers = {};
  if (byId("key").value) headers["x-api-key"] = byId("key").value;
  if (text) headers["content-type"] = "application/json";
  const where = target(path, fields);
  output.textContent = `${method} ${where} …`;
  try {
    const answer = await fetch(where, { method, headers, body: text?.value });
    const left = answer.headers.get("x-ratelimit-remaining");
    const said = await answer.text();
    let shown = said;
    try { shown = JSON.stringify(JSON.parse(said), null, 2); } catch { /* not one JSON value */ }
    const head = `${method} ${where}\n${answer.status}, ${left} requests left\n\n`;
    output.textContent = head + shown.slice(0, 100_000);
  } catch (error) {
    output.textContent = `${method} ${where}\n${error}`;
  }
}

function operation(path, method, described) {
  const fields = [];
  const content = described.requestBody?.content["application/json"];
  const sent = content ? body(content) : null;
  const output = element("pre", { hidden: true });
  const button = element("button", { type: "button" }, "Try it");
  button.onclick = () => {
    output.hidden = false;
    attempt(method.toUpperCase(), path, fields, sent?.text, output);
  };
  const answers = Object.entries(described.responses).map(([status, answer]) => [
    element("code", {}, status),
    answer.description,
    element("span", { className: "quiet" }, Object.entries(answer.content ?? {})
      .map(([type, media]) => `${type}: ${words(media.schema)}`).join(", ")),
  ]);
  return element("details", { id: described.operationId },
    element("summary", {},
      element("span", { className: "method" }, method.toUpperCase()),
      element("code", {}, path), ` ${described.summary}`),
    element("p", {}, described.description),
    described.parameters.length ? element("h4", {}, "Parameters") : null,
    parameters(described, fields),
    content ? element("h4", {}, `Body: ${words(content.schema)}`) : null,
    sent && sent.shown, button, output,
    element("h4", {}, "Answers"), table(answers));
}

function shape(name, schema) {
  const members = Object.entries(schema.properties ?? {}).map(([member, type]) => [
    element("code", {}, member + (schema.required?.includes(member) ? " *" : "")),
    words(type),
    element("span", { className: "quiet" }, type.description ?? ""),
  ]);
  return element("details", {}, element("summary", {}, element("code", {}, name)),
    element("p", {}, schema.description ?? ""), table(members));
}

async function show() {
  const api = await (await fetch("/openapi.json")).json();
  byId("title").textContent = api.info.title;
  byId("meaning").textContent = api.info.description;
  for (const { name } of api.tags) {
    byId("operations").append(element("h2", {}, name));
    for (const [path, methods] of Object.entries(api.paths)) {
      for (const [method, described] of Object.entries(methods)) {
        if (described.tags.includes(name)) {
          byId("operations").append(operation(path, method, described));
        }
      }
    }
  }
  for (const [name, schema] of Object.entries(api.components.schemas).sort()) {
    byId("schemas").append(shape(name, schema));
  }
}

show();
