#pragma once

/*
 * Marks the part of a program that `nearfar run --roi` simulates:
 *
 *   #include <nearfar.h>
 *   NEARFAR_ROI_BEGIN();
 *   ... what is to be measured ...
 *   NEARFAR_ROI_END();
 *
 * C and C++, nothing to link. Compile with -I"$(nearfar run --include)". Anywhere but in
 * `nearfar run` each is a system call that fails, and does nothing.
 */
#include <sys/syscall.h>
#include <unistd.h>

#include <nearfar_requests.h>

#define NEARFAR_ROI_BEGIN() ((void)syscall(NEARFAR_SYSTEM_CALL, (long)NEARFAR_REGION_BEGIN))
#define NEARFAR_ROI_END() ((void)syscall(NEARFAR_SYSTEM_CALL, (long)NEARFAR_REGION_END))
