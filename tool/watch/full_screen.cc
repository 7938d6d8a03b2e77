#include "tool/watch/full_screen.h"

#define NCURSES_NOMACROS 1  // its macros would replace words like move and erase
#include <curses.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>

#include "tool/print/output.h"
#include "tool/watch/watch_screen.h"

namespace neliroute::tool {
namespace {

constexpr short kWarningPair = 1;

volatile std::sig_atomic_t end_asked = 0;

void on_end(int) { end_asked = 1; }

void on_crash(int signal) {
  ::endwin();  // not meant for handlers, but worth the attempt: the process is lost anyway
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void set_ink(Ink ink) {
  const bool warns = ink == Ink::warning;
  const bool bold = warns || ink == Ink::strong;
  ::attr_set(bold ? A_BOLD : A_NORMAL, warns && ::has_colors() ? kWarningPair : short{0}, nullptr);
}

}  // namespace

bool FullScreen::possible() {
  const std::string term = variable("TERM");
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1 && !term.empty() &&
         term != "dumb";
}

Result<std::unique_ptr<FullScreen>> FullScreen::open() {
  end_asked = 0;
  ::use_tioctl(TRUE);  // the window's real size, not exported LINES and COLUMNS
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, on_end);
  if (::newterm(nullptr, stdout, stdin) == nullptr) {
    std::signal(SIGHUP, SIG_DFL);
    end_at_once_on_signals();
    return Error{Errc::bad_option, "this system has no description of terminal \"" +
                                       variable("TERM") +
                                       "\"; set TERM to one that it has, as TERM=xterm"};
  }
  for (const int signal : {SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    std::signal(signal, on_crash);
  }
  ::cbreak();
  ::noecho();
  ::keypad(stdscr, TRUE);
  ::nodelay(stdscr, TRUE);
  ::set_escdelay(25);
  ::curs_set(0);
  if (variable("NO_COLOR").empty() && ::has_colors() && ::start_color() == OK) {
    ::use_default_colors();
    ::init_pair(kWarningPair, COLOR_RED, -1);
  }
  return std::unique_ptr<FullScreen>(new FullScreen());
}

FullScreen::~FullScreen() {
  ::endwin();
  for (const int signal : {SIGHUP, SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    std::signal(signal, SIG_DFL);
  }
  end_at_once_on_signals();
}

Window FullScreen::window() const {
  return {static_cast<std::size_t>(COLS), static_cast<std::size_t>(LINES)};
}

int FullScreen::key() {
  const int code = ::getch();
  switch (code) {
    case ERR: return 0;
    case KEY_UP: return kKeyUp;
    case KEY_DOWN: return kKeyDown;
    case KEY_PPAGE: return kKeyPageUp;
    case KEY_NPAGE: return kKeyPageDown;
    case KEY_HOME: return kKeyHome;
    case KEY_END: return kKeyEnd;
    case KEY_ENTER: return kKeyEnter;
    case KEY_BACKSPACE: case '\b': return kKeyBackspace;
    case 'L' & 0x1f: ::clearok(curscr, TRUE); return kKeyOther;
    default: return code < KEY_MIN ? code : kKeyOther;
  }
}

void FullScreen::show(const Picture& picture) {
  ::erase();
  for (std::size_t y = 0; y < picture.size(); ++y) {
    ::move(static_cast<int>(y), 0);
    ::clrtoeol();  // the line before may have been wider than expected
    for (const Span& span : picture[y]) {
      set_ink(span.ink);
      ::addstr(span.text.c_str());
    }
  }
  ::attr_set(A_NORMAL, 0, nullptr);
  ::refresh();
}

bool FullScreen::ended() const {
  if (end_asked != 0) return true;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return ::poll(&input, 1, 0) > 0 && (input.revents & (POLLHUP | POLLERR)) != 0;
}

}  // namespace neliroute::tool
