#include <nanobind/nanobind.h>

#include "base/error.h"

namespace nb = nanobind;

void bind_attach(nb::module_& module);
void bind_crash(nb::module_& module);
void bind_flat(nb::module_& module);
void bind_library(nb::module_& module);
void bind_measure(nb::module_& module);
void bind_probe(nb::module_& module);
void bind_program_trace(nb::module_& module);
void bind_replay(nb::module_& module);
void bind_sequence(nb::module_& module);
void bind_swap(nb::module_& module);
void bind_tier(nb::module_& module);
void bind_trace(nb::module_& module);

namespace {

/// C++'s InputError becomes the package's, so that the command line knows what to say.
void translate_input_error(const std::exception_ptr& error, void*) {
  try {
    std::rethrow_exception(error);
  } catch (const nearfar::InputError& input) {
    const nb::object type = nb::module_::import_("nearfar.errors").attr("InputError");
    PyErr_SetString(type.ptr(), input.what());
  }
}

}  // namespace

NB_MODULE(_core, module) {
  nb::register_exception_translator(translate_input_error);
  module.def("version", [] { return NEARFAR_VERSION; });
  bind_crash(module);
  bind_flat(module);
  bind_library(module);
  bind_measure(module);
#ifdef __x86_64__
  bind_probe(module);
#endif
  bind_program_trace(module);
  bind_replay(module);
  bind_sequence(module);
#if defined(__linux__) && defined(__x86_64__)
  bind_attach(module);
  bind_swap(module);
#endif
  bind_tier(module);
  bind_trace(module);
}
