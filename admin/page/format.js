// Numbers, durations and instants as people read them.

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const TENTH = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const TIME = new Intl.DateTimeFormat("en", {
  hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
});

export function count(number) {
  return WHOLE.format(number);
}

// 341.3, but 512 rather than 512.0
export function tenth(number) {
  return Number.isInteger(number) ? WHOLE.format(number) : TENTH.format(number);
}

// How often something happens in a second: 0.4, 12, 1,204.
export function perSecond(number) {
  return number < 9.95 ? tenth(Math.round(10 * number) / 10) : count(number);
}

export function counted(number, noun, plural = `${noun}s`) {
  return `${count(number)} ${number === 1 ? noun : plural}`;
}

// How much more or less than fair, as "+0.2 %".
export function deviation(ratio) {
  const percent = (ratio - 1) * 100;
  if (Math.abs(percent) < 0.05) {
    return "±0 %";
  }
  const digits = Math.abs(percent) < 10 ? TENTH : WHOLE;
  return `${percent > 0 ? "+" : "−"}${digits.format(Math.abs(percent))} %`;
}

// "0.4 s", "12 s", "3 min 20 s", "2 h 5 min", "4 d 1 h": two units at most.
export function duration(ms) {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 9.95) {
    return `${TENTH.format(seconds)}\u00a0s`;
  }
  const whole = Math.round(seconds);
  for (const [unit, name, below, belowName] of
    [[86400, "d", 3600, "h"], [3600, "h", 60, "min"], [60, "min", 1, "s"]]) {
    if (whole >= unit) {
      const rest = Math.floor((whole % unit) / below);
      return `${count(Math.floor(whole / unit))}\u00a0${name}`
        + (rest ? `\u00a0${rest}\u00a0${belowName}` : "");
    }
  }
  return `${whole}\u00a0s`;
}

// A text from JSON: bytes that are not UTF-8 arrive as <name>_base64.
export function readable(object) {
  const texts = Object.entries(object).filter(([name]) => name.endsWith("_base64"))
    .map(([name, value]) => [name.slice(0, -"_base64".length), `${value} (base64)`]);
  return { ...object, ...Object.fromEntries(texts) };
}

// Unix seconds as this browser's time of day.
export function timeOfDay(unix) {
  return TIME.format(new Date(unix * 1000));
}
