#include "frontend/qemu/latency.h"

#include <array>

namespace nearfar::frontend::qemu {
namespace {

struct Row {
  std::string_view name;
  Cost cost;
};

constexpr std::array general{
    Row{"imul", {3, 1}},         Row{"mulx", {4, 2}},     Row{"mul", {3, 2}},
    Row{"popcnt", {3, 1}},       Row{"lzcnt", {3, 1}},    Row{"tzcnt", {3, 1}},
    Row{"bsf", {3, 1}},          Row{"bsr", {3, 1}},      Row{"pdep", {3, 1}},
    Row{"pext", {3, 1}},         Row{"crc32", {3, 1}},    Row{"shld", {3, 1}},
    Row{"shrd", {3, 1}},         Row{"rcl", {6, 7}},      Row{"rcr", {6, 7}},
    Row{"xchg", {2, 3}},         Row{"cmpxchg", {5, 5}},  Row{"xadd", {2, 4}},
    Row{"rdtsc", {18, 15}},      Row{"cpuid", {100, 20}}, Row{"cmpxchg8b", {12, 14}},
    Row{"cmpxchg16b", {17, 22}}, Row{"rdtscp", {18, 15}},
};

// Of vector instructions, without the v that AVX puts in front: the first row that the name begins
// with counts, so longer ones stand first.
constexpr std::array vector{
    Row{"pmulld", {10, 2}},   Row{"pmul", {5, 1}},       Row{"pmadd", {5, 1}},
    Row{"psadbw", {3, 1}},    Row{"perm2", {3, 1}},      Row{"permq", {3, 1}},
    Row{"permd", {3, 1}},     Row{"permpd", {3, 1}},     Row{"permps", {3, 1}},
    Row{"extract", {3, 1}},   Row{"insert", {3, 1}},     Row{"pextr", {3, 2}},
    Row{"pinsr", {2, 2}},     Row{"pmovmskb", {3, 1}},   Row{"movmsk", {3, 1}},
    Row{"broadcast", {3, 1}}, Row{"pbroadcast", {3, 1}}, Row{"pmovzx", {3, 1}},
    Row{"pmovsx", {3, 1}},    Row{"phadd", {3, 3}},      Row{"hadd", {6, 3}},
    Row{"round", {8, 2}},     Row{"dpp", {13, 4}},       Row{"aes", {4, 1}},
    Row{"pclmul", {6, 1}},    Row{"cvt", {5, 2}},        Row{"comis", {3, 1}},
    Row{"ucomis", {3, 1}},    Row{"rcp", {4, 1}},        Row{"rsqrt", {4, 1}},
    Row{"ptest", {3, 2}},     Row{"pcmpistr", {10, 3}},  Row{"pcmpestr", {16, 8}},
    Row{"gather", {12, 4}},   Row{"pgather", {12, 4}},   Row{"blendv", {2, 2}},
};

constexpr std::array x87{
    Row{"fdiv", {15, 1}},     Row{"fidiv", {15, 1}},   Row{"fsqrt", {20, 1}},
    Row{"fadd", {3, 1}},      Row{"fsub", {3, 1}},     Row{"fmul", {5, 1}},
    Row{"fsin", {100, 60}},   Row{"fcos", {100, 60}},  Row{"fptan", {120, 60}},
    Row{"fpatan", {120, 60}}, Row{"fyl2x", {100, 60}}, Row{"fprem", {30, 20}},
    Row{"fld", {1, 1}},       Row{"fst", {1, 1}},
};

template <std::size_t size>
const Cost* find(const std::array<Row, size>& rows, std::string_view name) {
  for (const Row& row : rows) {
    if (name.starts_with(row.name)) return &row.cost;
  }
  return nullptr;
}

// Whole names: mulsd and pextrb are others than mul and pext.
const Cost* find_general(std::string_view name) {
  for (const Row& row : general) {
    if (name == row.name) return &row.cost;
  }
  return nullptr;
}

/// add, sub, mul, fused ones, minimum, maximum and compare of floating-point vectors: 4 cycles.
bool is_float_arithmetic(std::string_view name) {
  const std::string_view ending = name.size() < 2 ? name : name.substr(name.size() - 2);
  if (ending != "ss" && ending != "sd" && ending != "ps" && ending != "pd") return false;
  constexpr std::array<std::string_view, 8> stems{"add", "sub", "mul", "fm",
                                                  "fnm", "min", "max", "cmp"};
  for (const std::string_view stem : stems) {
    if (name.starts_with(stem)) return true;
  }
  return false;
}

}  // namespace

Cost cost_of(std::string_view name, unsigned width) {
  if (name == "div" || name == "idiv") return width == 64 ? Cost{60, 36} : Cost{26, 10};
  if (const Cost* cost = find_general(name)) return *cost;
  const bool single = name.ends_with("ss") || name.ends_with("ps");
  std::string_view stem = name;
  if (stem.starts_with("v")) stem.remove_prefix(1);
  if (stem.starts_with("div")) return {static_cast<std::uint8_t>(single ? 11 : 14), 1};
  if (stem.starts_with("sqrt")) return {static_cast<std::uint8_t>(single ? 12 : 18), 1};
  if (is_float_arithmetic(stem)) return {4, 1};
  if (const Cost* cost = find(vector, stem)) return *cost;
  if (const Cost* cost = find(x87, name)) return *cost;
  return {};
}

}  // namespace nearfar::frontend::qemu
