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

// Nor can wide examples be scrolled by keyboard.
function mendAccessibility() {
  page.querySelectorAll(FIELDS).forEach(nameField);
  for (const text of page.querySelectorAll("pre:not([tabindex])")) text.tabIndex = 0;
}

const page = document.getElementById("api");
new MutationObserver(mendAccessibility).observe(page, { childList: true, subtree: true });

// A search field hides the entries of its list that do not contain its text.
for (const search of document.querySelectorAll("input[data-finds]")) {
  const list = search.closest("details");
  const entries = [...list.querySelectorAll(`.${search.dataset.finds}`)];
  search.addEventListener("input", () => {
    const text = search.value.trim().toLowerCase();
    for (const entry of entries) entry.hidden = !entry.textContent.toLowerCase().includes(text);
    const found = entries.filter((entry) => !entry.hidden).length;
    list.querySelector("[role=status]").textContent = text && `${found} found`;
  });
}

SwaggerUIBundle({
  url: "/openapi.json",
  domNode: page,
  deepLinking: true,
  filter: true,
  tryItOutEnabled: true,
  defaultModelsExpandDepth: 1,
  validatorUrl: null,
});
