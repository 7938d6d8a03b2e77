#include <neliroute/error.h>

#include <boost/system/system_error.hpp>
#include <ostream>

namespace neliroute {
namespace {

class Category final : public boost::system::error_category {
 public:
  // An id, so that two copies of this category (a static library linked twice) are equal.
  constexpr Category() noexcept : boost::system::error_category(0x6e656c69726f7574ULL) {}
  [[nodiscard]] const char* name() const noexcept override { return "neliroute"; }
  [[nodiscard]] std::string message(int code) const override {
    switch (static_cast<Errc>(code)) {
      case Errc::not_owner:
        return "this process does not own the slot now; route the key and go to its owner";
      case Errc::bad_option:
        return "a setting is wrong; see the message of this error";
      case Errc::ledger_unfit:
        return "the ledger breaks an assumption of the protocol; alter it or use another";
      case Errc::settings_conflict:
        return "the running processes use other settings; start with theirs, or stop them all";
      case Errc::ledger_unreachable:
        return "the ledger did not answer in time; check its address, and that it runs";
      case Errc::ledger_refused:
        return "the ledger refused; check the rights of this user";
      case Errc::barrier_stuck:
        return "a barrier did not end in time, so the process left the group; restart it";
      case Errc::closed:
        return "already closed; open a new one";
      case Errc::timed_out:
        return "no answer within the time limit; try again or raise it";
      case Errc::too_many_waiters:
        return "as many callers wait for owners as may; refuse the request, or raise the limit";
      case Errc::system_refused:
        return "the system has no more files or memory for this process; raise its limits";
    }
    return "unknown neliroute error " + std::to_string(code);
  }
};

constexpr Category kCategory;

}  // namespace

const boost::system::error_category& error_category() noexcept { return kCategory; }

boost::system::error_code make_error_code(Errc code) noexcept {
  return {static_cast<int>(code), error_category()};
}

std::ostream& operator<<(std::ostream& out, const Error& error) { return out << error.message(); }

boost::system::error_code make_error_code(const Error& error) noexcept {
  return make_error_code(error.code());
}

std::string Error::message() const {
  return detail_.empty() ? error_category().message(static_cast<int>(code_)) : detail_;
}

void throw_exception_from_error(const Error& error, const boost::source_location& location) {
  (void)location;
  throw boost::system::system_error(make_error_code(error), error.detail());
}

}  // namespace neliroute
