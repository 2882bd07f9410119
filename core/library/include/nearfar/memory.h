/* nearfar/memory.h: a simulated memory for programs that simulate the rest of a machine.
 *
 *   nearfar_memory* memory = NULL;
 *   if (nearfar_memory_open("optane-100.model", &memory) != NEARFAR_OK) puts(nearfar_error());
 *
 * The model is a file that `nearfar model export NAME -o FILE` writes, or the name of a preset. All
 * times are picoseconds from the
 * start of the simulation, and never decrease. There is no clock to tick: a host sends requests,
 * asks when something can happen next, advances to that time, and takes the completions.
 *
 * One memory belongs to one thread: the one that made it, or that called nearfar_memory_adopt().
 * Every function checks its arguments; a call that fails has changed nothing, unless its
 * description says otherwise.
 */
#ifndef NEARFAR_MEMORY_H
#define NEARFAR_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a call went. Negative: it failed, and nearfar_error() says why in one line. */
enum nearfar_status {
  NEARFAR_OK = 0,
  NEARFAR_WAIT = 1, /* the request was refused: its port waits for NEARFAR_WAKE */
  NEARFAR_BAD_ARGUMENT = -1,
  NEARFAR_BAD_MODEL = -2,       /* not an exported model, or one of another version */
  NEARFAR_BAD_FILE = -3,        /* the file of the model cannot be read */
  NEARFAR_BEYOND_CAPACITY = -4, /* the address is not below nearfar_memory_capacity() */
  NEARFAR_TIME_BACK = -5,       /* the time is before nearfar_memory_now() */
  NEARFAR_NOT_WOKEN = -6,       /* the port was refused, and its wake has not come yet */
  NEARFAR_OTHER_THREAD = -7,    /* the memory belongs to another thread */
  NEARFAR_BROKEN = -8,          /* an error inside nearfar; only destroy the memory */
  NEARFAR_BAD_STATE = -9        /* no saved state, or one of another model or version */
};

enum nearfar_op {
  NEARFAR_READ = 0, /* done when its data are there */
  NEARFAR_WRITE = 1 /* done when the persistence domain, or the controller's queue, has it */
};

enum nearfar_kind {
  NEARFAR_DONE = 0,
  NEARFAR_MEDIA = 1, /* a write with tell_media has reached the media */
  NEARFAR_WAKE = 2   /* `id` is a port: it may send again */
};

/* One line of 64 bytes. */
typedef struct nearfar_request {
  uint64_t id;         /* comes back in the completion; any value */
  uint64_t address;    /* in bytes, a multiple of 64, below the capacity */
  uint8_t op;          /* enum nearfar_op */
  uint8_t reserved_1;  /* 0 */
  uint16_t port;       /* ports are refused and woken one by one, in order of arrival */
  uint8_t tell_media;  /* 1: a write is also to say when it reaches the media, where it has one */
  uint8_t reserved_2[3]; /* 0 */
  uint64_t data;       /* a handle of the host's, which comes back; 0: none */
} nearfar_request;

typedef struct nearfar_completion {
  uint64_t time_ps;
  uint64_t id;
  uint64_t address;
  uint8_t kind;        /* enum nearfar_kind */
  uint8_t reserved[7]; /* anything */
  uint64_t data;
} nearfar_completion;

typedef struct nearfar_memory nearfar_memory;

/* Later than every event. */
#define NEARFAR_NEVER UINT64_MAX
/* The last time that a call takes: 106 days. */
#define NEARFAR_LAST_PS (UINT64_MAX / 2)

/* The version of nearfar, as "0.2.0". */
const char* nearfar_version(void);

/* Why the last call of this thread that failed did so. The text lasts until the next that fails. */
const char* nearfar_error(void);

/* Makes a memory from the text of an exported model, `size` bytes long. */
int nearfar_memory_create(const char* model, size_t size, nearfar_memory** memory);

/* The same from a file, or of the preset of that name, such as "optane-100", where the models are
 * installed: in the package, in share/nearfar/models below the library's prefix, or in the folder
 * that the environment names in NEARFAR_MODELS. */
int nearfar_memory_open(const char* path, nearfar_memory** memory);

/* Frees the memory; NULL does nothing. Any thread may do so when no other uses the memory. */
void nearfar_memory_destroy(nearfar_memory* memory);

/* From here on the memory belongs to the calling thread. No other may be using it. */
int nearfar_memory_adopt(nearfar_memory* memory);

/* What the model was exported as, such as "optane-100,channels=2", and "sha256:" with the hash that
 * results carry; they last as long as the memory. A model without a name is "unnamed". */
const char* nearfar_memory_model_name(const nearfar_memory* memory);
const char* nearfar_memory_model_hash(const nearfar_memory* memory);

/* Bytes; addresses run from 0 to one below. */
uint64_t nearfar_memory_capacity(const nearfar_memory* memory);

/* The time that the memory has reached. */
uint64_t nearfar_memory_now(const nearfar_memory* memory);

/* Requests that were accepted and are not completed yet. */
uint64_t nearfar_memory_unfinished(const nearfar_memory* memory);

/* Sends one request at `time_ps`, first playing what happens until then (also where the answer is
 * NEARFAR_WAIT or NEARFAR_NOT_WOKEN). NEARFAR_WAIT: the request is not taken; offer it again when a
 * completion of kind NEARFAR_WAKE has named its port. */
int nearfar_memory_send(nearfar_memory* memory, const nearfar_request* request, uint64_t time_ps);

/* Sends one request as soon as the memory takes it, at `time_ps` at the earliest. Until then time
 * passes, and completions and wakes gather for nearfar_memory_completions(); nearfar_memory_now()
 * is then when the request was taken. For a host that has nothing else to do meanwhile: it is
 * spared the wake and the second offer. */
int nearfar_memory_send_when_free(nearfar_memory* memory, const nearfar_request* request,
                                  uint64_t time_ps);

/* A core has executed a fence at `time_ps`, and everything it stored before has been accepted:
 * queues that the model has drain on fences begin to. */
int nearfar_memory_fence(nearfar_memory* memory, uint64_t time_ps);

/* When there can be a completion or wake without a further request: a lower bound. NEARFAR_NEVER
 * while no request is unfinished and no port waits, though the memory refreshes itself. The present
 * while completions are there to be taken. */
uint64_t nearfar_memory_next_event(const nearfar_memory* memory);

/* Plays everything up to and including `until_ps`. */
int nearfar_memory_advance(nearfar_memory* memory, uint64_t until_ps);

/* Plays up to the first instant that has a further completion or wake, at most up to `until_ps`;
 * NEARFAR_NEVER sets no limit. Without a limit and with nothing to come, no time passes. */
int nearfar_memory_advance_to_completion(nearfar_memory* memory, uint64_t until_ps);

/* Takes up to `room` completions and wakes, in time order, and returns how many. The rest stays for
 * the next call. */
size_t nearfar_memory_completions(nearfar_memory* memory, nearfar_completion* into, size_t room);

/* Both in one call, which is the cheapest: takes up to `room` completions and wakes, in time order,
 * after it has played up to the first instant that has any, at most up to `until_ps`. While some
 * are left of those that have come, no time passes. Returns how many there were, or a failure. */
int nearfar_memory_wait(nearfar_memory* memory, uint64_t until_ps, nearfar_completion* into,
                        size_t room);

/* Everything that the memory holds, counts and has under way, as bytes, which last until the next
 * nearfar_memory_save() or the end of the memory. Restored into a memory of the same model, by the
 * same version of nearfar on the same kind of machine, it goes on bit for bit: the same calls give
 * the same completions. A failed restore changes nothing. */
int nearfar_memory_save(nearfar_memory* memory, const void** bytes, size_t* size);
int nearfar_memory_restore(nearfar_memory* memory, const void* bytes, size_t size);

/* Statistics, up to the present: how many there are, their names in a fixed order, all values in
 * that order (returns how many were written), and one value by its name. */
size_t nearfar_memory_counters(const nearfar_memory* memory);
const char* nearfar_memory_counter_name(const nearfar_memory* memory, size_t index);
size_t nearfar_memory_counter_values(nearfar_memory* memory, uint64_t* into, size_t room);
int nearfar_memory_counter(nearfar_memory* memory, const char* name, uint64_t* value);

/* All of them with the model's name and hash, as JSON in the form of `nearfar replay --json`; NULL:
 * it failed. The text lasts until the next call or the end of the memory. What is recorded is all
 * in its file then, also of a host that ends without ending its memories. */
const char* nearfar_memory_statistics(nearfar_memory* memory);

/* Writes every request that is accepted from now on into the file `path`, as
 * `nearfar replay MODEL FILE --format dramsim3 --clock 1ps` plays it; NULL ends that. With the
 * statistics in a file, `nearfar compare STATISTICS REPLAYED` shows whether the host used the
 * memory that was meant. */
int nearfar_memory_record(nearfar_memory* memory, const char* path);

#ifdef __cplusplus
}
#endif

#endif
