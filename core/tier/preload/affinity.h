#pragma once

// Assembly of a function that has just been called, around a call to another: what it was given in
// registers is as it was, and the stack is aligned meanwhile.
#define NEARFAR_KEEPING_ARGUMENTS(body)                                                       \
  "push %rax\n\tpush %rdi\n\tpush %rsi\n\tpush %rdx\n\tpush %rcx\n\tpush %r8\n\tpush %r9\n\t" \
  ".cfi_adjust_cfa_offset 56\n\t" body                                                        \
  "pop %r9\n\tpop %r8\n\tpop %rcx\n\tpop %rdx\n\tpop %rsi\n\tpop %rdi\n\tpop %rax\n\t"        \
  ".cfi_adjust_cfa_offset -56\n\t"
