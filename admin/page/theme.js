// Light, dark, or the system's choice; and the colours of style.css as numbers for the canvases.
import { byId } from "./dom.js";

const KEY = "neliroute-theme";

function stored() {
  try {
    return localStorage.getItem(KEY) ?? "auto";
  } catch {
    return "auto"; // storage may be forbidden; the switch still works for this visit
  }
}

function store(choice) {
  try {
    localStorage.setItem(KEY, choice);
  } catch {
    // as above
  }
}

// Calls back whenever the colours have changed.
export function startTheme(onChange) {
  const apply = (choice) => {
    document.documentElement.dataset.theme = choice;
    for (const input of byId("theme").elements) {
      input.checked = input.value === choice;
    }
  };
  apply(stored());
  byId("theme").addEventListener("change", (event) => {
    store(event.target.value);
    apply(event.target.value);
    onChange();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", onChange);
}

// The colour of a custom property of style.css as [red, green, blue], 0 to 255.
export function themeColour(property) {
  const probe = byId("probe");
  probe.style.color = `var(${property})`;
  return getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
}
