// System calls that Swift's Glibc module lacks: epoll(7) and timerfd_create(2), which fail on other
// systems; prctl(2), which is variadic; readdir(3) and localtime_r(3), because the shim of OpenSSL
// includes their headers too.
#ifndef PUSHER_CSYSTEM_EPOLL_SHIM_H
#define PUSHER_CSYSTEM_EPOLL_SHIM_H

#include <errno.h>
#include <stdint.h>
#include <time.h>

// Returns the seconds that local time is ahead of UTC at this time; INT64_MIN if it is unknown.
static inline int64_t pusher_local_offset(int64_t seconds) {
  time_t time = (time_t)seconds;
  struct tm local;
  return localtime_r(&time, &local) ? local.tm_gmtoff : INT64_MIN;
}

#ifdef __linux__

#include <sys/epoll.h>
#include <sys/timerfd.h>

// Returns a new set; -1 with errno on failure.
static inline int pusher_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

// Adds, changes or removes a descriptor (EPOLL_CTL_ADD, _MOD, _DEL). Returns 0 or the error's
// number.
static inline int pusher_epoll_control(int set, int operation, int descriptor, uint32_t events, uint64_t data) {
  struct epoll_event event = {.events = events, .data.u64 = data};
  return epoll_ctl(set, operation, descriptor, &event) ? errno : 0;
}

// Collects at most `most` ready descriptors, without waiting. Returns their number.
static inline int pusher_epoll_collect(int set, uint64_t *data, uint32_t *events, int most) {
  enum { room = 256 };
  struct epoll_event ready[room];
  int count = epoll_wait(set, ready, most < room ? most : room, 0);
  for (int index = 0; index < count; index++) {
    data[index] = ready[index].data.u64;
    events[index] = ready[index].events;
  }
  return count < 0 ? 0 : count;
}

// Returns a timer of the clock that counts the machine's sleep; -1 with errno on failure.
static inline int pusher_timer_create(void) { return timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK); }

// Makes the timer readable from this time of its clock on, in nanoseconds; 0 turns it off. Returns
// 0 or the error's number.
static inline int pusher_timer_set(int timer, int64_t time) {
  struct itimerspec when = {.it_value = {.tv_sec = time / 1000000000, .tv_nsec = time % 1000000000}};
  return timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL) ? errno : 0;
}

#else

static inline int pusher_timer_create(void) { errno = ENOSYS; return -1; }

static inline int pusher_timer_set(int timer, int64_t time) {
  (void)timer, (void)time;
  return ENOSYS;
}

static inline int pusher_epoll_create(void) { errno = ENOSYS; return -1; }

static inline int pusher_epoll_control(int set, int operation, int descriptor, uint32_t events, uint64_t data) {
  (void)set, (void)operation, (void)descriptor, (void)events, (void)data;
  return ENOSYS;
}

static inline int pusher_epoll_collect(int set, uint64_t *data, uint32_t *events, int most) {
  (void)set, (void)data, (void)events, (void)most;
  return 0;
}

#endif

#include <dirent.h>
#include <stdlib.h>

// Returns the next process that a folder such as /proc names; 0 after the last. `folder` is a DIR.
static inline int pusher_next_process(void *folder) {
  struct dirent *entry;
  while ((entry = readdir((DIR *)folder)) != NULL) {
    int number = atoi(entry->d_name);
    if (number > 0) return number;
  }
  return 0;
}

// Returns 1 if orphans among the descendants become children of this process.
#ifdef __linux__
#include <sys/prctl.h>
static inline int pusher_is_subreaper(void) {
  int is_set = 0;
  return !prctl(PR_GET_CHILD_SUBREAPER, &is_set, 0L, 0L, 0L) && is_set;
}
#else
static inline int pusher_is_subreaper(void) { return 0; }
#endif

// Linux's numbers for the operations, which are macros there.
enum { pusher_epoll_add = 1, pusher_epoll_remove = 2, pusher_epoll_change = 3 };

#endif
