#include "policy/policy.h"

#include "base/error.h"

namespace nearfar::policy {

std::unique_ptr<Policy> make_policy(const std::string& name, const Limits& limits) {
  if (name == "static") return make_static(limits);
  if (name == "fifo") return make_fifo(limits);
  if (name == "lru") return make_lru(limits);
  if (name == "hot-cold") return make_hot_cold(limits);
  throw InputError("policy '" + name + "' is not known, expected static, fifo, lru or hot-cold");
}

}  // namespace nearfar::policy
