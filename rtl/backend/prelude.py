"""The head of the C text: what W and its operations are, for one copy or for several side by side."""

from __future__ import annotations

SCALAR = """\
typedef uint64_t W;
#define LANES 1
#define ZERO 0ull
#define SPLAT(x) (x)
#define WORD(k) s[k]
#define IN(k) in[k]
#define OUT(k) out[k]
#define EQ(a, b) ((W)((a) == (b)))
#define LT(a, b) ((W)((a) < (b)))
#define LESS(a, b) ((W)((a) < (b)))
#define MUX(c, f, t) ((c) ? (t) : (f))
#define MUL32(a, b) ((a) * (b))
#define HIGH(a, b) ((W)(((unsigned __int128)(a) * (b)) >> 64))
#define READ(base, step, limb, top, a) s[(base) + (limb) + (step) * ((a) & (top))]
#define TABLE(table, step, limb, top, a) table[(limb) + (step) * ((a) & (top))]
#define WRITE(base, step, limb, top, on, a, x) \\
  do { if (on) s[(base) + (limb) + (step) * ((a) & (top))] = (x); } while (0)
#define FAILS(x, number) do { if (!(x) && !failed) failed = (number); } while (0)
"""

# A vector's copies of a word are adjacent: word k of copy c is s[k * COPIES + c].
VECTOR = """\
typedef uint64_t W __attribute__((vector_size(8 * LANES)));
typedef int64_t I __attribute__((vector_size(8 * LANES)));
#define ZERO ((W){0})
#define SPLAT(x) (ZERO + (x))
#define WORD(k) (*(W *)(s + (k) * COPIES))
#define IN(k) (*(const W *)(in + (k) * COPIES))
#define OUT(k) (*(W *)(out + (k) * COPIES))
#define EQ(a, b) ((W)((a) == (b)) & 1ull)
#define LT(a, b) ((W)((a) < (b)) & 1ull)
#define LESS(a, b) ((W)((I)(a) < (I)(b)) & 1ull)
#define MUX(c, f, t) ((f) ^ (((f) ^ (t)) & (ZERO - (c))))
/* GCC does not see that the operands have 32 bits, and would multiply 64-bit ones in three steps */
#if LANES == 4 && defined(__AVX2__) && !defined(__clang__)
typedef int N __attribute__((vector_size(32)));
#define MUL32(a, b) ((W)__builtin_ia32_pmuludq256((N)(a), (N)(b)))
#elif LANES == 8 && defined(__AVX512F__) && !defined(__clang__)
typedef int N __attribute__((vector_size(64)));
typedef long long L __attribute__((vector_size(64)));
#define MUL32(a, b) ((W)__builtin_ia32_pmuludq512_mask((N)(a), (N)(b), (L)ZERO, (unsigned char)-1))
#else
#define MUL32(a, b) ((a) * (b))
#endif
static inline W HIGH(W a, W b) {
  W made;
  for (int c = 0; c < LANES; c++) made[c] = (uint64_t)(((unsigned __int128)a[c] * b[c]) >> 64);
  return made;
}
static inline W fetch(const uint64_t *from, uint64_t step, uint64_t top, W a) {
  W made;
  for (int c = 0; c < LANES; c++) made[c] = from[step * COPIES * (a[c] & top) + c];
  return made;
}
static inline W look_up(const uint64_t *from, uint64_t step, uint64_t top, W a) {
  W made;
  for (int c = 0; c < LANES; c++) made[c] = from[step * (a[c] & top)];
  return made;
}
static inline void put(uint64_t *to, uint64_t step, uint64_t top, W on, W a, W x) {
  for (int c = 0; c < LANES; c++) if (on[c]) to[step * COPIES * (a[c] & top) + c] = x[c];
}
#define READ(base, step, limb, top, a) fetch(s + ((base) + (limb)) * COPIES, step, top, a)
#define TABLE(table, step, limb, top, a) look_up(table + (limb), step, top, a)
#define WRITE(base, step, limb, top, on, a, x) put(s + ((base) + (limb)) * COPIES, step, top, on, a, x)
#define FAILS(x, number) \\
  do { for (int c = 0; c < LANES && copy + c < USED; c++) \\
    if (!(x)[c] && !failed) failed = (int64_t)(number) | ((int64_t)(copy + c) << 32); } while (0)
"""


def prelude(used: int, lanes: int) -> str:
    """Definitions for `used` copies, `lanes` at a time; the arrays have room for a multiple of `lanes`."""
    lines = [f"/* {used} copies, {lanes} at a time */", "#include <stdint.h>"]
    if lanes == 1:
        return "\n".join([*lines, "#define COPIES 1", SCALAR])
    copies = -(-used // lanes) * lanes
    lines += [f"#define USED {used}", f"#define COPIES {copies}", f"#define LANES {lanes}"]
    return "\n".join([*lines, VECTOR])
