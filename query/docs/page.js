// The API page: Swagger UI with /openapi.json, in the color scheme of the reader.
"use strict";

const dark = matchMedia("(prefers-color-scheme: dark)");
const applyColorScheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", applyColorScheme);
applyColorScheme();

// Swagger UI leaves form fields without a name for screen readers.
const FIELDS = "input, select, textarea";
const NAMES = [
  [".operation-filter-input", "Filter by tag"],
  [".examples-select-element", "Example"],
  ["textarea", "Request body"],
  ["#servers", "Server"],
];

function nameField(field) {
  const parameter = field.closest("tr[data-param-name]");
  const known = NAMES.find(([selector]) => field.matches(selector));
  const name = parameter ? parameter.dataset.paramName : known?.[1];
  if (name && !field.ariaLabel) field.ariaLabel = name;
}

const page = document.getElementById("api");
new MutationObserver(() => page.querySelectorAll(FIELDS).forEach(nameField))
  .observe(page, { childList: true, subtree: true });

SwaggerUIBundle({
  url: "/openapi.json",
  domNode: page,
  deepLinking: true,
  filter: true,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 1,
  validatorUrl: null,
});
