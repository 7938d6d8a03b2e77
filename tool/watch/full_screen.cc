#include "tool/watch/full_screen.h"

#define NCURSES_NOMACROS 1  // its macros would replace words like move and erase
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <langinfo.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "tool/watch/watch_screen.h"

namespace neliroute::tool {
namespace {

constexpr std::array kEnding = {SIGINT, SIGTERM, SIGHUP};
constexpr std::array kCrashing = {SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

// Of the 256-colour palette, as in tool/print/terminal.cc: bright enough for black letters, and
// distinct for the colour-blind. With only 8 colours, those.
constexpr std::array<short, 8> kPalette = {75, 214, 114, 176, 222, 80, 210, 147};
constexpr std::array<short, 5> kFewColours = {COLOR_CYAN, COLOR_YELLOW, COLOR_GREEN, COLOR_WHITE,
                                              COLOR_MAGENTA};
constexpr short kWarningPair = 1;
constexpr short kFirstOwnerPair = 2;

volatile std::sig_atomic_t end_asked = 0;

// For a crash, when only write() and tcsetattr() may be called.
termios terminal_before{};
char give_back[256];
std::size_t give_back_size = 0;

void on_end(int) { end_asked = 1; }

void on_crash(int signal) {
  static_cast<void>(!::write(STDOUT_FILENO, give_back, give_back_size));
  ::tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
  ::raise(signal);  // its default action is restored: SA_RESETHAND
}

/// Prepares what restores the terminal: attributes off, cursor on, and the previous screen.
void learn_to_give_back() {
  give_back_size = 0;
  for (const char* name : {"sgr0", "cnorm", "rmcup", "rmkx"}) {
    const char* code = ::tigetstr(name);
    if (code == nullptr || code == reinterpret_cast<const char*>(-1)) continue;
    const std::size_t size = std::strlen(code);
    if (give_back_size + size > sizeof give_back) continue;
    std::memcpy(give_back + give_back_size, code, size);
    give_back_size += size;
  }
}

/// Signal handlers, for as long as it lives.
class Handlers {
 public:
  Handlers() {
    struct sigaction action{};
    action.sa_handler = on_end;
    for (std::size_t i = 0; i < kEnding.size(); ++i) ::sigaction(kEnding[i], &action, &ending_[i]);
    action.sa_handler = on_crash;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    for (std::size_t i = 0; i < kCrashing.size(); ++i) {
      ::sigaction(kCrashing[i], &action, &crashing_[i]);
    }
  }
  ~Handlers() {
    for (std::size_t i = 0; i < kEnding.size(); ++i) ::sigaction(kEnding[i], &ending_[i], nullptr);
    for (std::size_t i = 0; i < kCrashing.size(); ++i) {
      ::sigaction(kCrashing[i], &crashing_[i], nullptr);
    }
  }
  Handlers(const Handlers&) = delete;
  Handlers& operator=(const Handlers&) = delete;

 private:
  std::array<struct sigaction, kEnding.size()> ending_{};
  std::array<struct sigaction, kCrashing.size()> crashing_{};
};

std::uint32_t meaning_of(wint_t code) {
  switch (code) {
    case KEY_UP: return kKeyUp;
    case KEY_DOWN: return kKeyDown;
    case KEY_PPAGE: return kKeyPageUp;
    case KEY_NPAGE: return kKeyPageDown;
    case KEY_HOME: return kKeyHome;
    case KEY_END: return kKeyEnd;
    case KEY_ENTER: return kKeyEnter;
    case KEY_BACKSPACE: return kKeyBackspace;
    default: return 0;
  }
}

bool has_no_color() {
  const char* no_color = std::getenv("NO_COLOR");
  return no_color != nullptr && *no_color != '\0';
}

}  // namespace

struct FullScreen::Parts {
  Handlers handlers;  // first: ncurses keeps handlers that are not the default
  SCREEN* screen = nullptr;
  bool colours = false;
  std::size_t owner_pairs = 0;
  bool utf8 = false;
  bool resized = false;

  ~Parts() {
    if (screen == nullptr) return;
    ::endwin();
    ::delscreen(screen);
  }

  void start_colours() {
    if (has_no_color() || !::has_colors() || ::start_color() == ERR) return;
    colours = true;
    ::use_default_colors();
    ::init_pair(kWarningPair, COLOR_RED, -1);
    const bool many = COLORS >= 256;
    owner_pairs = many ? kPalette.size() : kFewColours.size();
    for (std::size_t i = 0; i < owner_pairs; ++i) {
      ::init_pair(static_cast<short>(kFirstOwnerPair + static_cast<short>(i)),
                  many ? short{16} : short{COLOR_BLACK}, many ? kPalette[i] : kFewColours[i]);
    }
  }

  void ink(const Span& span) const {
    attr_t attributes = A_NORMAL;
    short pair = 0;
    switch (span.ink) {
      case Ink::plain: break;
      case Ink::strong: attributes = A_BOLD; break;
      case Ink::faint: attributes = A_DIM; break;
      case Ink::heading: attributes = A_UNDERLINE; break;
      case Ink::selected: attributes = A_REVERSE; break;
      case Ink::warning:
        attributes = A_BOLD;
        pair = colours ? kWarningPair : short{0};
        break;
      case Ink::owner:
        if (colours) pair = static_cast<short>(kFirstOwnerPair + span.colour % owner_pairs);
        break;
    }
    ::attr_set(attributes, pair, nullptr);
  }

  /// Characters outside the locale's encoding become a question mark.
  [[nodiscard]] std::string encoded(std::string text) const {
    if (utf8) return text;
    std::string made;
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x80) made += c;
      if (byte >= 0xc0) made += '?';
    }
    return made;
  }
};

bool FullScreen::possible() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1 && term != nullptr &&
         std::string_view(term) != "dumb";
}

Result<std::unique_ptr<FullScreen>> FullScreen::open() {
  std::setlocale(LC_CTYPE, "");
  auto parts = std::make_unique<Parts>();
  parts->utf8 = std::string_view(::nl_langinfo(CODESET)) == "UTF-8";
  end_asked = 0;
  ::tcgetattr(STDIN_FILENO, &terminal_before);
  ::use_tioctl(TRUE);  // the window's real size, not exported LINES and COLUMNS
  parts->screen = ::newterm(nullptr, stdout, stdin);
  if (parts->screen == nullptr) {
    const char* term = std::getenv("TERM");
    return Error{Errc::bad_option, "this system has no description of terminal \"" +
                                       std::string(term ? term : "") +
                                       "\"; set TERM to one that it has, as TERM=xterm"};
  }
  learn_to_give_back();
  ::cbreak();
  ::noecho();
  ::nonl();
  ::intrflush(stdscr, FALSE);
  ::keypad(stdscr, TRUE);
  ::nodelay(stdscr, TRUE);
  ::set_escdelay(25);
  parts->start_colours();
  return std::unique_ptr<FullScreen>(new FullScreen(std::move(parts)));
}

FullScreen::FullScreen(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
FullScreen::~FullScreen() = default;

Window FullScreen::window() const {
  return {static_cast<std::size_t>(std::max(COLS, 1)),
          static_cast<std::size_t>(std::max(LINES, 1))};
}

std::optional<std::uint32_t> FullScreen::key() {
  for (;;) {
    wint_t code = 0;
    const int kind = ::get_wch(&code);
    if (kind == ERR) return std::nullopt;
    if (kind == KEY_CODE_YES && code == KEY_RESIZE) {
      parts_->resized = true;
      continue;
    }
    if (kind == KEY_CODE_YES) {
      if (const std::uint32_t known = meaning_of(code)) return known;
      continue;
    }
    if (code == '\r') return kKeyEnter;
    if (code == '\b') return kKeyBackspace;
    if (code == ('L' & 0x1f)) {  // Ctrl-L: redraw everything
      ::clearok(curscr, TRUE);
      parts_->resized = true;
      continue;
    }
    return static_cast<std::uint32_t>(code);
  }
}

bool FullScreen::resized() { return std::exchange(parts_->resized, false); }

void FullScreen::show(const Picture& picture) {
  ::erase();
  for (std::size_t y = 0; y < picture.lines.size(); ++y) {
    ::move(static_cast<int>(y), 0);
    ::clrtoeol();  // the line before may have been wider than expected
    for (const Span& span : picture.lines[y]) {
      parts_->ink(span);
      ::addstr(parts_->encoded(span.text).c_str());
    }
  }
  ::attr_set(A_NORMAL, 0, nullptr);
  ::curs_set(picture.cursor ? 1 : 0);
  if (picture.cursor) ::move(LINES - 1, static_cast<int>(*picture.cursor));
  ::refresh();
}

bool FullScreen::ended() const {
  if (end_asked != 0) return true;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return ::poll(&input, 1, 0) > 0 && (input.revents & (POLLHUP | POLLERR)) != 0;
}

}  // namespace neliroute::tool
