#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <type_traits>
#include <vector>

namespace nearfar::bindings {

namespace nb = nanobind;

/// How a field of this type is read from a Python value: as it is, without conversion but from a
/// whole number to a real one. Fields that Python names by a word have specialisations beside their
/// bindings.
template <typename Field>
struct FieldReader {
  static Field read(nb::handle value) {
    return nb::cast<Field>(value, std::is_floating_point_v<Field>);
  }
};

/// Binds a struct by its own list of fields, `visit_fields`. Python makes one from keywords, and
/// asks for their names by `fields()`: it repeats neither names nor types.
template <typename Struct>
void bind_fields(nb::module_& module, const char* name) {
  const auto init = [](Struct* self, const nb::kwargs& values) {
    new (self) Struct();  // NOLINT(cppcoreguidelines-owning-memory): nanobind's memory
    std::size_t known = 0;
    Struct::visit_fields(*self, [&](const char* field, auto& member) {
      if (!values.contains(field)) return;
      ++known;
      try {
        member = FieldReader<std::remove_reference_t<decltype(member)>>::read(values[field]);
      } catch (const nb::cast_error&) {
        throw nb::type_error((std::string(field) + ": found a value of another type").c_str());
      }
    });
    if (known != values.size()) throw nb::type_error("found a keyword that is no field");
  };
  const auto fields = [] {
    std::vector<std::string> names;
    Struct probe;
    Struct::visit_fields(probe, [&](const char* field, auto&) { names.emplace_back(field); });
    return names;
  };
  nb::class_<Struct>(module, name)
      .def("__init__", init, nb::arg("values"))
      .def_static("fields", fields);
}

}  // namespace nearfar::bindings
