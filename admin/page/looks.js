// What an owner looks like: a colour and a pattern that depend only on its name, so that every page
// of every process, today and tomorrow, shows it alike.
//
// The twelve colours were computed: they maximise the smallest distance (0.09 in OKLab) between any
// two, as seen with normal vision and without red, green or blue cones; their order keeps
// neighbours far apart. Strong reds are left out: red means unowned.

export const COLOURS = [
  "#6d79e7", "#b59b68", "#74d2fa", "#edbc51", "#b46b91", "#315bc0",
  "#817f2b", "#89524e", "#a7d1a6", "#e886ba", "#a79cfb", "#6a5988",
];

// Each says of a pixel of an 8 x 8 tile whether it has the ink.
export const PATTERNS = [
  () => false,
  (x, y) => (x + y) % 4 === 0,
  (x, y) => x % 4 === 1 && y % 4 === 1,
  (x, y) => y % 4 === 1,
  (x, y) => (x - y + 8) % 8 < 3,
  (x) => x % 4 === 1,
  (x, y) => x % 8 === 3 || y % 8 === 3,
  (x, y) => ((x >> 1) + (y >> 1)) % 2 === 0,
];

const LOOKS = COLOURS.length * PATTERNS.length;
const TILE = 8;
const SWATCH = 16;

function fnv1a(text) {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  return hash;
}

// 0 to 95. Names that end in a number, as "orders-0" and "orders-1", take looks one after another:
// that many processes of one group never look alike.
export function lookOf(name) {
  const [, stem, digits] = /^(.*?)(\d{0,15})$/s.exec(name);
  return (fnv1a(stem) + (digits ? Number(digits) : 0)) % LOOKS;
}

function colourOf(look) {
  return COLOURS[look % COLOURS.length];
}

function patternOf(look) {
  return PATTERNS[Math.floor(look / COLOURS.length)];
}

function rgbOf(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function mix(from, to, share) {
  return from.map((part, index) => Math.round(part + (to[index] - part) * share));
}

// The colour of a pattern's lines: towards black on a light ground, towards white on a dark one.
function inkOf([red, green, blue]) {
  const light = 0.299 * red + 0.587 * green + 0.114 * blue > 135;
  return mix([red, green, blue], light ? [0, 0, 0] : [255, 255, 255], light ? 0.3 : 0.35);
}

const LITTLE_ENDIAN = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;

// As a pixel of ImageData, opaque.
export function pixel([red, green, blue]) {
  return (LITTLE_ENDIAN
    ? (255 << 24) | (blue << 16) | (green << 8) | red
    : (red << 24) | (green << 16) | (blue << 8) | 255) >>> 0;
}

// A square of pixels to fill areas with, its side a power of two: 8 pixels of the page.
function makeTile(ground, ink, hasInk, scale) {
  const side = TILE * scale;
  const tile = new Uint32Array(side * side);
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      const inked = hasInk(Math.floor(x / scale), Math.floor(y / scale));
      tile[y * side + x] = pixel(inked ? ink : ground);
    }
  }
  return tile;
}

// All tiles of one theme and one pixel density.
export class Tiles {
  constructor(theme, density) {
    this.density = density;
    this.scale = density < 1.5 ? 1 : density < 3 ? 2 : 4;
    this.side = TILE * this.scale;
    this.theme = theme;
    this.looks = new Map(); // a look's number -> its tile
    this.names = new Map(); // a name -> its tile
    this.unowned = this.#make(theme.unownedGround, theme.unowned, (x, y) => (x + y) % 4 < 2);
    this.unknown = this.#make(theme.unknownGround, theme.unknown,
      (x, y) => x % 4 === 1 && y % 4 === 1);
    this.moving = this.#make(theme.panel, theme.text, () => true);
  }

  ofName(name) {
    let tile = this.names.get(name);
    if (!tile) {
      tile = this.#ofLook(lookOf(name));
      this.names.set(name, tile);
    }
    return tile;
  }

  // A name that is not among these is computed again when it comes back.
  keepOnly(names) {
    for (const name of this.names.keys()) {
      if (!names.has(name)) {
        this.names.delete(name);
      }
    }
  }

  #ofLook(look) {
    if (!this.looks.has(look)) {
      const ground = rgbOf(colourOf(look));
      this.looks.set(look, this.#make(ground, inkOf(ground), patternOf(look)));
    }
    return this.looks.get(look);
  }

  // The tile, and a faint one for cells that are not highlighted.
  #make(ground, ink, hasInk) {
    const faint = (colour) => mix(colour, this.theme.panel, 0.84);
    const tile = makeTile(ground, ink, hasInk, this.scale);
    tile.faint = makeTile(faint(ground), faint(ink), hasInk, this.scale);
    return tile;
  }
}

// A small canvas that shows what an owner looks like, beside its name.
export function paintSwatch(canvas, tile, scale) {
  const side = SWATCH * scale;
  const image = new ImageData(side, side);
  const pixels = new Uint32Array(image.data.buffer);
  const tileSide = Math.sqrt(tile.length);
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      pixels[y * side + x] = tile[(y % tileSide) * tileSide + (x % tileSide)];
    }
  }
  canvas.width = canvas.height = side;
  canvas.getContext("2d").putImageData(image, 0, 0);
}
