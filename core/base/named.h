#pragma once

// Lists that other files name entries of, and Python too: an enumeration together with the name
// that users and files know each value by, and what it means. Each list is written once, as a macro
// whose lines are ENTRY(value, "name", "meaning"); the enumeration and the array of names are made
// from it, so that neither can miss a value or have another order.
//
//   #define NEARFAR_COLOURS(ENTRY) ENTRY(red, "red", "as blood") ENTRY(any, "any", "as it fits")
//   enum class Colour { NEARFAR_COLOURS(NEARFAR_VALUE) };
//   inline constexpr Named all_colours[] = {NEARFAR_COLOURS(NEARFAR_NAMED)};
//
// core/bindings/lists writes them into the Python module nearfar._lists.

#define NEARFAR_VALUE(value, name, meaning) value,
#define NEARFAR_NAMED(value, name, meaning) ::nearfar::Named{name, meaning},

namespace nearfar {

/// One value of a list.
struct Named {
  const char* name;
  const char* meaning;
};

}  // namespace nearfar
