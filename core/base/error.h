#pragma once

#include <stdexcept>
#include <string>

namespace nearfar {

/// The user's input cannot be used: a model, a trace, an argument. The message is one
/// line that says what was found, what was expected and what to do; the command line
/// prints it and exits with status 2.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace nearfar
