#pragma once

/*
 * How a program under `nearfar run` speaks to the simulator: a system call with a number that no
 * kernel knows, whose first argument says what is meant. Anywhere else it fails with ENOSYS and
 * does nothing. C, for nearfar.h and the guest library.
 */
#define NEARFAR_SYSTEM_CALL 0x4e460L

enum {
  NEARFAR_HELLO = 1,       /* address of a 64-bit word: becomes NEARFAR_PROTOCOL */
  NEARFAR_REGION_BEGIN,    /* of interest */
  NEARFAR_REGION_END,
  NEARFAR_FLUSHING,        /* first byte, bytes: flushes until NEARFAR_FLUSHED take its lines */
  NEARFAR_FLUSHED,
  NEARFAR_COPYING          /* likewise, but only those lines that are stored to meanwhile */
};

#define NEARFAR_PROTOCOL 1

/* The displacement of the nop that marks the load behind it (mkpt.h): "mkpt" in memory. */
#define NEARFAR_MKPT 0x74706b6d
