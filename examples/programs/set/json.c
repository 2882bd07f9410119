/* Parsing of JSON into trees, and a walk over each: bytes, branches and small allocations. */
#include "measured.h"

enum { RECORDS = 8192, ROOM = 4 << 20, MOST_VALUES = 4096, PART = 256 };

enum kind { NOTHING, NUMBER, TEXT, LIST, OBJECT };

struct value {
  enum kind kind;
  uint32_t length; /* of the text, or of the list */
  double number;
  const char* text;
  const char* name; /* in an object */
  uint32_t name_length;
  struct value* first; /* of a list's or object's */
  struct value* next;
};

static char* text;
static uint32_t* begins;
static struct value* values;
static uint32_t used;
static const char* at;

static void set_up(void) {
  static const char* const tags[] = {"red", "green", "blue", "a \\\"quoted\\\" one",
                                     "long and dull"};
  text = memory_of(ROOM);
  begins = memory_of((RECORDS + 1) * sizeof *begins);
  values = memory_of(MOST_VALUES * sizeof *values);
  size_t length = 0;
  for (int i = 0; i < RECORDS; ++i) {
    begins[i] = (uint32_t)length;
    length += (size_t)sprintf(
        text + length, "{\"id\": %d, \"price\": %u.%02u, \"open\": %s, \"tags\": [", i,
        random_below(1000), random_below(100), random_below(2) ? "true" : "null");
    const uint32_t count = 1 + random_below(6);
    for (uint32_t k = 0; k < count; ++k) {
      length += (size_t)sprintf(text + length, "%s\"%s\"", k ? ", " : "", tags[random_below(5)]);
    }
    length += (size_t)sprintf(text + length, "], \"at\": {\"x\": -%u.5, \"y\": %ue-3}, \"more\": [",
                              random_below(90), random_below(9000));
    const uint32_t more = random_below(12);
    for (uint32_t k = 0; k < more; ++k) {
      length +=
          (size_t)sprintf(text + length, "%s[%u, %u]", k ? ", " : "", k, random_below(1u << 30));
    }
    length += (size_t)sprintf(text + length, "]}\n");
  }
  begins[RECORDS] = (uint32_t)length;
}

static void fail(const char* expected) {
  fprintf(stderr, "found '%.10s', expected %s\n", at, expected);
  exit(1);
}

static void skip_blanks(void) {
  while (*at == ' ' || *at == '\n' || *at == '\t') ++at;
}

static int taken(char letter) {
  skip_blanks();
  if (*at != letter) return 0;
  ++at;
  return 1;
}

static const char* parse_text(uint32_t* length) {
  if (!taken('"')) fail("a text");
  const char* const begin = at;
  while (*at != '"') at += *at == '\\' ? 2 : 1;
  *length = (uint32_t)(at - begin);
  ++at;
  return begin;
}

static double digits(double* scale) {
  double number = 0;
  *scale = 1;
  for (; *at >= '0' && *at <= '9'; ++at) {
    number = 10 * number + (*at - '0');
    *scale *= 0.1;
  }
  return number;
}

static double parse_number(void) {
  double scale;
  const int minus = taken('-');
  double number = digits(&scale);
  if (*at == '.') {
    ++at;
    const double behind = digits(&scale);
    number += behind * scale;
  }
  if (*at == 'e') {
    ++at;
    const int down = taken('-');
    for (int power = (int)digits(&scale); power > 0; --power) number *= down ? 0.1 : 10.0;
  }
  return minus ? -number : number;
}

static struct value* parse(void);

static void parse_inside(struct value* into, char end) {
  struct value** last = &into->first;
  if (taken(end)) return;
  do {
    const char* name = NULL;
    uint32_t length = 0;
    if (into->kind == OBJECT) {
      name = parse_text(&length);
      if (!taken(':')) fail("a colon");
    }
    struct value* const found = parse();
    found->name = name;
    found->name_length = length;
    *last = found;
    last = &found->next;
    ++into->length;
  } while (taken(','));
  if (!taken(end)) fail("a comma or the end");
}

static struct value* parse(void) {
  if (used == MOST_VALUES) fail("fewer values");
  struct value* const found = &values[used++];
  memset(found, 0, sizeof *found);
  skip_blanks();
  switch (*at) {
    case '{':
    case '[':
      found->kind = *at == '{' ? OBJECT : LIST;
      ++at;
      parse_inside(found, found->kind == OBJECT ? '}' : ']');
      break;
    case '"':
      found->kind = TEXT;
      found->text = parse_text(&found->length);
      break;
    case 't':
    case 'n':
      found->number = *at == 't';
      at += 4;
      break;
    default:
      found->kind = NUMBER;
      found->number = parse_number();
  }
  return found;
}

static double sum_of(const struct value* value) {
  double sum = value->number + value->length;
  if (value->name_length == 5 && memcmp(value->name, "price", 5) == 0) sum += value->number;
  for (const struct value* one = value->first; one != NULL; one = one->next) sum += sum_of(one);
  return sum;
}

static uint64_t step(uint64_t i) {
  double sum = 0;
  for (uint64_t record = i * PART; record < (i + 1) * PART; ++record) {
    used = 0;
    at = text + begins[record % RECORDS];
    sum += sum_of(parse());
  }
  return (uint64_t)(int64_t)(100 * sum);
}

MEASURED_MAIN(set_up, step)
