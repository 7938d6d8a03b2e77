"""A terminal in memory: a pseudo-terminal whose output is drawn into lines, as a person sees it."""
import codecs
import fcntl
import os
import pty
import re
import struct
import termios

from harness import children

# What a terminal obeys: CSI sequences, character sets, keypad modes.
CSI = re.compile(r"\x1b\[([?>]?)([\d;]*)([@-~])")
OTHER = re.compile(r"\x1b[()].|\x1b[=>78M]")
UNFINISHED = re.compile(r"\x1b(\[[?>]?[\d;]*|[()])?\Z")


class Picture:
    """What an xterm shows of what was written to it; attributes are only remembered as text."""

    def __init__(self, columns, lines):
        self.row = self.column = 0
        self.rest = ""
        self.last = " "
        self.resize(columns, lines)

    def resize(self, columns, lines):
        """Everything is drawn anew after it."""
        self.columns, self.height = columns, lines
        self.cells = [[" "] * columns for _ in range(lines)]
        self.top, self.bottom = 0, lines  # what scrolls
        # What the child had written for the larger window may still come.
        self.row, self.column = min(self.row, lines - 1), min(self.column, columns - 1)

    def lines(self):
        """Each without the blanks at its end."""
        return ["".join(line).rstrip() for line in self.cells]

    def feed(self, text):
        """Obeys it."""
        text = self.rest + text
        self.rest = ""
        at = 0
        while at < len(text):
            if UNFINISHED.match(text, at):
                self.rest = text[at:]
                return
            csi, other = CSI.match(text, at), OTHER.match(text, at)
            if csi:
                if not csi[1]:
                    self._csi(csi[3], [int(n) for n in csi[2].split(";") if n])
                at = csi.end()
            elif other:
                if other[0] == "\x1bM":  # up a line
                    if self.row == self.top:
                        self._shift(self.top, 1)
                    else:
                        self.row = max(0, self.row - 1)
                at = other.end()
            else:
                self._put(text[at])
                at += 1

    def _put(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            if self.row == self.bottom - 1:
                self._shift(self.top, -1)
            else:
                self.row = min(self.row + 1, self.height - 1)
        elif character == "\b":
            self.column = max(0, self.column - 1)
        elif character == "\t":
            self.column = min(self.columns - 1, self.column // 8 * 8 + 8)
        elif character >= " ":
            if self.column >= self.columns:
                self._put("\r")
                self._put("\n")
            self.cells[self.row][self.column] = self.last = character
            self.column += 1

    def _shift(self, first, by):
        """Lines `first` to the end of the scrolling region go down by so many, or up."""
        lines = self.cells[first:self.bottom]
        blank = [[" "] * self.columns for _ in range(min(abs(by), len(lines)))]
        rest = len(lines) - len(blank)
        lines = blank + lines[:rest] if by > 0 else lines[len(blank):] + blank
        self.cells[first:self.bottom] = lines

    def _erase(self, first, last):
        for at in range(first, last):
            self.cells[at // self.columns][at % self.columns] = " "

    def _csi(self, what, numbers):
        count = numbers[0] if numbers and numbers[0] else 1
        here = self.row * self.columns + min(self.column, self.columns - 1)
        end = self.row * self.columns + self.columns
        if what == "H":
            row, column = (numbers + [1, 1])[:2] if numbers else (1, 1)
            self.row, self.column = min(row, self.height) - 1, min(column, self.columns) - 1
        elif what == "J":
            whole = self.height * self.columns
            self._erase(*((here, whole) if not numbers or numbers[0] == 0 else (0, whole)))
        elif what == "K":
            begin = self.row * self.columns
            kind = numbers[0] if numbers else 0
            self._erase(*((here, end), (begin, here + 1), (begin, end))[kind])
        elif what == "X":
            self._erase(here, min(end, here + count))
        elif what == "P":
            line = self.cells[self.row]
            self.cells[self.row] = (line[:self.column] + line[self.column + count:]
                                    + [" "] * count)[:self.columns]
        elif what == "@":
            line = self.cells[self.row]
            self.cells[self.row] = (line[:self.column] + [" "] * count
                                    + line[self.column:])[:self.columns]
        elif what == "r":
            first, last = numbers if len(numbers) == 2 else (1, self.height)
            self.top, self.bottom = first - 1, min(last, self.height)
            self.row = self.column = 0
        elif what in "LMST":
            self._shift(self.row if what in "LM" else self.top, count if what in "LT" else -count)
        elif what == "b":
            for _ in range(count):
                self._put(self.last)
        elif what in "ABCDGd":
            self._move(what, count)
        elif what not in "mhlnt":
            raise ValueError(f"the emulator knows no CSI {what}")

    def _move(self, what, count):
        if what in "AB":
            self.row = min(max(0, self.row + (count if what == "B" else -count)), self.height - 1)
        elif what in "CD":
            self.column = min(max(0, self.column + (count if what == "C" else -count)),
                              self.columns - 1)
        elif what == "G":
            self.column = min(count, self.columns) - 1
        else:
            self.row = min(count, self.height) - 1


class Terminal:
    """A child on a pseudo-terminal of this size: stdin, stdout and stderr, or those of `on`."""

    def __init__(self, command, env, columns=80, lines=24, on=("stdin", "stdout", "stderr"),
                 **options):
        self.master, slave = pty.openpty()
        self.before = termios.tcgetattr(self.master)
        self.picture = Picture(columns, lines)
        self._set_size(columns, lines)
        os.set_blocking(self.master, False)
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.raw = ""
        self.child = children.spawn(command, env=env, **{**options, **{name: slave for name in on}})
        self.slave = slave  # kept: a pseudo-terminal that nobody has open forgets its settings

    def _set_size(self, columns, lines):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def resize(self, columns, lines):
        """As a person does with the window; the kernel would signal a foreground job."""
        self.picture.resize(columns, lines)
        self._set_size(columns, lines)
        self.child.send_signal(28)  # SIGWINCH

    def press(self, keys):
        """Types them."""
        os.write(self.master, keys.encode())

    def read(self):
        """Draws what came meanwhile; the lines."""
        while True:
            try:
                data = os.read(self.master, 65536)
            except (BlockingIOError, OSError):
                return self.picture.lines()
            if not data:
                return self.picture.lines()
            text = self.decoder.decode(data)
            self.raw += text
            self.picture.feed(text)

    def wait(self, condition, what, timeout=30):
        """Until the lines are so; the lines."""
        def looked():
            lines = self.read()
            return lines if condition(lines) else None

        return children.wait_until(looked, timeout,
                                   lambda: what + "; shown:\n" + "\n".join(self.read()))

    def wait_exit(self, timeout=20):
        """Its return code."""
        children.wait_until(lambda: (self.read(), self.child.poll())[1] is not None, timeout,
                            lambda: "it ends; shown:\n" + "\n".join(self.read()))
        self.read()
        return self.child.returncode

    def settings(self):
        """What the child left the terminal as."""
        return termios.tcgetattr(self.master)

    def close(self):
        """Ends the child, if it is still there."""
        children.end(self.child, grace=0)
        for file in (self.master, self.slave):
            os.close(file)
