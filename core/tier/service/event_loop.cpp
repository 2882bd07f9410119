#include "tier/service/event_loop.h"

#include <poll.h>

#include <array>

#include "tier/os/system.h"

namespace nearfar::tier {

Events wait_for_events(const EventSources& sources, int milliseconds) {
  std::array<pollfd, 4> polled{{
      {.fd = sources.wake_up, .events = POLLIN, .revents = 0},
      {.fd = sources.messages, .events = POLLIN, .revents = 0},
      {.fd = sources.tree, .events = POLLIN, .revents = 0},
      {.fd = sources.children, .events = POLLIN, .revents = 0},
  }};
  os::call(__NR_poll, os::word(polled.data()), os::word(polled.size()), milliseconds);
  const auto is_ready = [&](std::size_t i) { return (polled[i].revents & POLLIN) != 0; };
  return {.wake_up = is_ready(0),
          .tree = is_ready(2),
          .children = is_ready(3),
          .closed = ((polled[0].revents | polled[1].revents) & POLLNVAL) != 0};
}

}  // namespace nearfar::tier
