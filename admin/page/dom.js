// What every other module needs of the document. Text is set as text, never as markup: names and
// endpoints are untrusted.

export function byId(id) {
  return document.getElementById(id);
}

export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) {
      node.setAttribute(name, value);
    }
  }
  node.append(...children);
  return node;
}

// Leaves the node alone when nothing changes: selections and screen readers are undisturbed.
export function setText(node, text) {
  if (node.textContent !== text) {
    node.textContent = text;
  }
}

export function setShown(node, shown) {
  if (node.hidden === shown) {
    node.hidden = !shown;
  }
}

// Sets the text of nodes named <prefix>-<field>.
export function setFields(prefix, fields) {
  for (const [field, text] of Object.entries(fields)) {
    setText(byId(`${prefix}-${field}`), text);
  }
}
