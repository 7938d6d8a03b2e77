// Result<T>: a value or an Error; no public call of this library throws. And Notice: a line for the
// application's log.
//
// An Error is a code of our own category and, where there is more to say, a detail: a text that
// names the input, what was expected and what to do.
//
// Threads: values, any.   Units: none.   Errors: this is where they are defined.
#pragma once

#include <boost/system/error_code.hpp>
#include <boost/system/result.hpp>
#include <iosfwd>
#include <string>
#include <utility>

namespace neliroute {

enum class Errc {
  not_owner = 1,       ///< this process does not lead the slot's partition now
  bad_option,          ///< a setting is wrong, or two of them contradict each other
  ledger_unfit,        ///< the ledger is there, but breaks an assumption of the protocol
  settings_conflict,   ///< the running group has other slots, partitions, logs, hash or mode
  ledger_unreachable,  ///< the ledger did not answer in time
  ledger_refused,      ///< the ledger refused: not authorised, or not supported
  barrier_stuck,       ///< the application's barrier did not end; the process left the group
  closed,              ///< the object was closed, or is closing
  timed_out,           ///< the call's time limit passed
  too_many_waiters,    ///< as many callers wait for owners as may
  system_refused,      ///< the system has no more files or memory for this process
};

/// Our category. Its messages say what happened and what to do.
[[nodiscard]] const boost::system::error_category& error_category() noexcept;
[[nodiscard]] boost::system::error_code make_error_code(Errc code) noexcept;

/// A code of our category, and the detail of this occurrence.
class [[nodiscard]] Error {
 public:
  Error() noexcept = default;  ///< no error; what error() of a Result with a value returns
  Error(Errc code) noexcept : code_(code) {}  // NOLINT: an Errc is an Error without details
  Error(Errc code, std::string detail) : code_(code), detail_(std::move(detail)) {}

  [[nodiscard]] Errc code() const noexcept { return code_; }
  [[nodiscard]] const std::string& detail() const noexcept { return detail_; }
  /// The detail where there is one, else the category's message.
  [[nodiscard]] std::string message() const;

 private:
  Errc code_{};
  std::string detail_;
};

/// Its message.
std::ostream& operator<<(std::ostream& out, const Error& error);

/// For boost::system::result::value(), which throws the code that this returns.
[[nodiscard]] boost::system::error_code make_error_code(const Error& error) noexcept;
[[noreturn]] void throw_exception_from_error(const Error& error,
                                             const boost::source_location& location);

/// boost::system::result, but the compiler warns if one is ignored.
template <class T = void>
class [[nodiscard]] Result : public boost::system::result<T, Error> {
 public:
  using boost::system::result<T, Error>::result;
};

enum class Severity { info, warning, error };

/// Something an operator should read.
struct Notice {
  Severity severity = Severity::info;
  std::string text;
};

}  // namespace neliroute

template <>
struct boost::system::is_error_code_enum<neliroute::Errc> : std::true_type {};
