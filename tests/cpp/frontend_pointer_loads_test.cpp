#include <cstdint>
#include <initializer_list>
#include <vector>

#include <gtest/gtest.h>

#include "frontend/qemu/translate.h"

/// Loads of pointers, found by following registers.
namespace nearfar::frontend::qemu {
namespace test_file {

using Bytes = std::vector<std::uint8_t>;

Translated block(std::initializer_list<Bytes> code) {
  std::vector<Located> instructions;
  std::uint64_t pc = 0x1000;
  for (const Bytes& bytes : code) {
    instructions.push_back({decode(bytes, pc), bytes.size()});
    pc += bytes.size();
  }
  return translate(0x1000, instructions);
}

const Bytes load_rbx_from_rdi{0x48, 0x8b, 0x5f, 0x08};    // mov 8(%rdi), %rbx
const Bytes load_ebx_from_rdi{0x8b, 0x5f, 0x08};          // mov 8(%rdi), %ebx
const Bytes copy_rbx_to_rcx{0x48, 0x89, 0xd9};            // mov %rbx, %rcx
const Bytes use_rcx{0x8b, 0x11};                          // mov (%rcx), %edx
const Bytes store_to_rcx{0x89, 0x11};                     // mov %edx, (%rcx)
const Bytes use_rcx_as_index{0x8b, 0x14, 0x8e};           // mov (%rsi,%rcx,4), %edx
const Bytes clear_rcx{0x31, 0xc9};                        // xor %ecx, %ecx
const Bytes count_rcx{0x48, 0xff, 0xc1};                  // inc %rcx
const Bytes nothing{0x90};                                // nop
const Bytes follow_rax{0x48, 0x8b, 0x00};                 // mov (%rax), %rax
const Bytes mkpt{0x0f, 0x1f, 0x80, 0x6d, 0x6b, 0x70, 0x74};  // nopl 0x74706b6d(%rax)

TEST(PointerLoads, ALoadWhoseValueIsABaseInItsBlockIsOne) {
  const Translated one = block({load_rbx_from_rdi, copy_rbx_to_rcx, use_rcx});
  EXPECT_TRUE(one.pointers.is(0));
  EXPECT_FALSE(one.pointers.is(2));
  const Translated stored = block({load_rbx_from_rdi, copy_rbx_to_rcx, store_to_rcx});
  EXPECT_TRUE(stored.pointers.is(0));
}

TEST(PointerLoads, ALoadIsNoneWhoseValueIsAnIndexOrChangedOrNarrow) {
  EXPECT_FALSE(block({load_rbx_from_rdi, copy_rbx_to_rcx, use_rcx_as_index}).pointers.is(0));
  EXPECT_FALSE(block({load_rbx_from_rdi, copy_rbx_to_rcx, clear_rcx, use_rcx}).pointers.is(0));
  EXPECT_FALSE(block({load_rbx_from_rdi, copy_rbx_to_rcx, count_rcx, use_rcx}).pointers.is(0));
  const Translated narrow = block({load_ebx_from_rdi, copy_rbx_to_rcx, use_rcx});
  EXPECT_FALSE(narrow.pointers.is(0));
  EXPECT_FALSE(narrow.pointers.may_be(0));
}

TEST(PointerLoads, ALoadIsFoundAcrossTheBlocksInBetween) {
  const Translated load = block({load_rbx_from_rdi});
  const Translated between = block({nothing, copy_rbx_to_rcx});
  const Translated use = block({nothing, nothing, use_rcx});
  EXPECT_TRUE(load.pointers.may_be(0));
  PointerOrigins origins;
  origins.follow(load.pointers);
  origins.follow(between.pointers);
  EXPECT_FALSE(load.pointers.is(0));
  origins.follow(use.pointers);
  EXPECT_TRUE(load.pointers.is(0));
}

TEST(PointerLoads, WhatABlockWritesInBetweenIsNoLongerTheLoads) {
  const Translated load = block({load_rbx_from_rdi, copy_rbx_to_rcx});
  const Translated between = block({clear_rcx});
  const Translated use = block({use_rcx});
  PointerOrigins origins;
  origins.follow(load.pointers);
  origins.follow(between.pointers);
  origins.follow(use.pointers);
  EXPECT_FALSE(load.pointers.is(0));
}

TEST(PointerLoads, ALoopThatFollowsPointersFindsItsLoadTheSecondTimeRound) {
  const Translated loop = block({follow_rax});
  PointerOrigins origins;
  origins.follow(loop.pointers);
  EXPECT_FALSE(loop.pointers.is(0));
  origins.follow(loop.pointers);
  EXPECT_TRUE(loop.pointers.is(0));
}

TEST(PointerLoads, TheMarkerIsANopThatIsToldFromOthers) {
  EXPECT_TRUE(decode(mkpt, 0).marks);
  EXPECT_EQ(decode(mkpt, 0).instruction.kind, sim::cpu::InstructionKind::plain);
  EXPECT_FALSE(decode(mkpt, 0).reads);
  EXPECT_FALSE(decode(nothing, 0).marks);
  EXPECT_FALSE(decode(Bytes{0x0f, 0x1f, 0x80, 0, 0, 0, 0}, 0).marks);
  EXPECT_FALSE(decode(follow_rax, 0).marks);
}

}  // namespace test_file
}  // namespace nearfar::frontend::qemu
