/* Compression by references to earlier text, found by a hash of four bytes: bytes and branches. */
#include "measured.h"

enum { TEXT = 1 << 22, PART = 1 << 15, TABLE = 1 << 15, WINDOW = 1 << 16, WORDS = 4096 };

static uint8_t* text;
static uint8_t* packed;
static uint32_t* table; /* the last place of four bytes with this hash */

static void set_up(void) {
  static char words[WORDS][12];
  text = memory_of(TEXT + 16);
  packed = memory_of(2 * PART);
  table = memory_of(TABLE * sizeof *table);
  for (int i = 0; i < WORDS; ++i) {
    const uint32_t letters = 2 + random_below(9);
    for (uint32_t k = 0; k < letters; ++k) words[i][k] = (char)('a' + random_below(26));
  }
  size_t at = 0;
  while (at + 12 < TEXT) {
    const uint32_t one = random_below(WORDS);
    const uint32_t two = random_below(WORDS);
    const char* const word = words[one < two ? one : two];
    const size_t length = strlen(word);
    memcpy(text + at, word, length);
    at += length;
    text[at++] = random_below(8) == 0 ? '\n' : ' ';
  }
}

static uint32_t four(const uint8_t* at) {
  uint32_t found;
  memcpy(&found, at, sizeof found);
  return found;
}

static uint32_t common(const uint8_t* a, const uint8_t* b, const uint8_t* end) {
  const uint8_t* const begin = b;
  while (b < end && *a == *b) ++a, ++b;
  return (uint32_t)(b - begin);
}

/* A literal is a byte below 128; a reference has a length and two bytes of distance. */
static uint64_t step(uint64_t i) {
  const size_t begin = i * PART % TEXT;
  const uint8_t* const end = text + begin + PART;
  uint8_t* out = packed;
  for (const uint8_t* at = text + begin; at < end;) {
    const uint32_t hash = (four(at) * 2654435761u) >> 17;
    const uint8_t* const before = text + table[hash];
    table[hash] = (uint32_t)(at - text);
    const int near = before < at && at - before < WINDOW;
    const uint32_t length = near ? common(before, at, at + 66 < end ? at + 66 : end) : 0;
    if (length < 4) {
      *out++ = *at++;
      continue;
    }
    *out++ = (uint8_t)(128 + length - 4);
    *out++ = (uint8_t)(at - before);
    *out++ = (uint8_t)((at - before) >> 8);
    at += length;
  }
  return (uint64_t)(out - packed) + ((uint64_t)out[-1] << 32);
}

MEASURED_MAIN(set_up, step)
