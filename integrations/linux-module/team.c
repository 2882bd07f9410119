// SPDX-License-Identifier: (MIT OR GPL-2.0)
/* Calls on one open file that begin together, and may end together. */
#include <linux/sched/signal.h>
#include <linux/wait.h>

#include "nearfar.h"

#define SECONDS_TO_GATHER 10

/* The last one to come; guards_team is held. */
static void begin_team(struct nearfar_client* client) {
  const unsigned long team = client->team + 1;

  if (client->leading != 1) WRITE_ONCE(client->ended, team);
  client->waiting = client->leading = 0;
  WRITE_ONCE(client->team, team);
}

static int await_team(struct nearfar_client* client, unsigned long team, bool leads) {
  long left = wait_event_interruptible_timeout(client->begun, READ_ONCE(client->team) >= team,
                                               SECONDS_TO_GATHER * HZ);

  if (left > 0) return 0;
  mutex_lock(&client->guards_team);
  if (client->team >= team) {
    left = 1; /* the last member came in this moment */
  } else {
    client->waiting--;
    client->leading -= leads;
  }
  mutex_unlock(&client->guards_team);
  if (left > 0) return 0;
  return left < 0 ? -EINTR : -ETIMEDOUT;
}

int nearfar_gather_led(struct nearfar_client* client, unsigned int members, bool leads,
                       unsigned long* team) {
  bool last;

  *team = 0;
  if (members == 1) return 0;
  mutex_lock(&client->guards_team);
  if (client->waiting == 0) client->size = members;
  if (client->size != members) {
    mutex_unlock(&client->guards_team);
    return -EINVAL;
  }
  *team = client->team + 1;
  client->leading += leads;
  last = ++client->waiting == members;
  if (last) begin_team(client);
  mutex_unlock(&client->guards_team);
  if (!last) return await_team(client, *team, leads);
  wake_up_all(&client->begun);
  return 0;
}

int nearfar_gather(struct nearfar_client* client, unsigned int members) {
  unsigned long team;

  return nearfar_gather_led(client, members, false, &team);
}

bool nearfar_has_ended(const struct nearfar_client* client, unsigned long team) {
  return READ_ONCE(client->ended) >= team;
}

void nearfar_end_team(struct nearfar_client* client, unsigned long team) {
  mutex_lock(&client->guards_team);
  if (client->ended < team) WRITE_ONCE(client->ended, team);
  mutex_unlock(&client->guards_team);
}
