// What the decoder makes of instructions; the bytes are what GNU as makes of the text.

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "frontend/qemu/decode.h"

namespace nearfar::frontend::qemu {
namespace test_file {

using namespace sim::cpu;
using enum InstructionKind;

Decoded decoded(std::initializer_list<int> bytes) {
  std::vector<std::uint8_t> text;
  for (const int byte : bytes) text.push_back(static_cast<std::uint8_t>(byte));
  return decode(text, 0x1000);
}

InstructionKind kind(std::initializer_list<int> bytes) { return decoded(bytes).instruction.kind; }

TEST(Decode, DecodingTellsWhichInstructionsTouchMemoryAndHow) {
  EXPECT_EQ(kind({0x48, 0x01, 0xd8}), plain);               // add rax, rbx
  EXPECT_EQ(kind({0x48, 0x8b, 0x03}), load);                // mov rax, [rbx]
  EXPECT_EQ(kind({0x48, 0x89, 0x03}), store);               // mov [rbx], rax
  EXPECT_EQ(kind({0x48, 0x01, 0x03}), load_store);          // add [rbx], rax
  EXPECT_EQ(kind({0xf0, 0x48, 0x01, 0x03}), locked);        // lock add [rbx], rax
  EXPECT_EQ(kind({0x48, 0x87, 0x03}), locked);              // xchg [rbx], rax
  EXPECT_EQ(kind({0x0f, 0x1f, 0x40, 0x00}), plain);         // nop [rax]
  EXPECT_EQ(kind({0x48, 0x8d, 0x04, 0x0b}), plain);         // lea rax, [rbx + rcx]
  EXPECT_EQ(kind({0x75, 0xfe}), branch);                    // jne
  EXPECT_EQ(kind({0xc3}), load);                            // ret
  EXPECT_EQ(kind({0xe8, 0, 0, 0, 0}), store);               // call
  EXPECT_EQ(kind({0x0f, 0x05}), system_call);
}

TEST(Decode, DecodingTellsFlushesFencesAndNonTemporalAccesses) {
  EXPECT_EQ(kind({0x66, 0x0f, 0xae, 0x33}), flush);                  // clwb [rbx]
  EXPECT_EQ(kind({0x66, 0x0f, 0xae, 0x3b}), flush_invalidate);       // clflushopt [rbx]
  EXPECT_EQ(kind({0x0f, 0xae, 0x3b}), flush_ordered);                // clflush [rbx]
  EXPECT_EQ(kind({0x0f, 0xae, 0xf8}), store_fence);
  EXPECT_EQ(kind({0x0f, 0xae, 0xe8}), load_fence);
  EXPECT_EQ(kind({0x0f, 0xae, 0xf0}), full_fence);
  EXPECT_EQ(kind({0x48, 0x0f, 0xc3, 0x03}), nt_store);               // movnti [rbx], rax
  EXPECT_EQ(kind({0xc5, 0xfd, 0xe7, 0x03}), nt_store);               // vmovntdq [rbx], ymm0
  EXPECT_EQ(kind({0x66, 0x0f, 0x38, 0x2a, 0x03}), nt_load);          // movntdqa xmm0, [rbx]
  EXPECT_EQ(kind({0x0f, 0x18, 0x0b}), prefetch);                     // prefetcht0 [rbx]
  EXPECT_EQ(kind({0xf3, 0x90}), pause);
}

TEST(Decode, DecodingSeparatesTheInputsOfTheAddressFromThoseOfTheResult) {
  const Instruction add = decoded({0x48, 0x03, 0x04, 0xcb}).instruction;  // add rax, [rbx + rcx*8]
  EXPECT_EQ(add.sources[0], 0);
  EXPECT_EQ(add.sources[1], no_register);
  EXPECT_EQ(add.address_sources, (std::array<Register, 2>{3, 1}));
  EXPECT_EQ(add.destinations[0], 0);
  EXPECT_EQ(add.destinations[1], flags_register);
  const Instruction lea = decoded({0x48, 0x8d, 0x04, 0x0b}).instruction;
  EXPECT_EQ(lea.sources[0], 3);
  EXPECT_EQ(lea.sources[1], 1);
  EXPECT_EQ(lea.address_sources[0], no_register);
  const Instruction vector =
      decoded({0xc5, 0xf5, 0x58, 0xc2}).instruction;  // vaddpd ymm0,ymm1,ymm2
  EXPECT_EQ(vector.sources[0], first_vector + 1);
  EXPECT_EQ(vector.sources[1], first_vector + 2);
  EXPECT_EQ(vector.destinations[0], first_vector);
  EXPECT_EQ(vector.latency, 4);
}

TEST(Decode, DecodingWaitsForARegisterThatAConditionMayLeaveAsItIs) {
  const Instruction move = decoded({0x48, 0x0f, 0x44, 0xc3}).instruction;  // cmove rax, rbx
  EXPECT_NE(std::find(move.sources.begin(), move.sources.end(), 0), move.sources.end());
  EXPECT_NE(std::find(move.sources.begin(), move.sources.end(), 3), move.sources.end());
  EXPECT_NE(std::find(move.sources.begin(), move.sources.end(), flags_register),
            move.sources.end());
}

TEST(Decode, DecodingLeavesOutTheWorkOfRenamingAndTheStackEngine) {
  const Instruction zero = decoded({0x31, 0xc0}).instruction;  // xor eax, eax
  EXPECT_EQ(zero.sources[0], no_register);
  EXPECT_EQ(zero.latency, 0);
  EXPECT_EQ(decoded({0x48, 0x89, 0xd8}).instruction.latency, 0);  // mov rax, rbx
  const Instruction push = decoded({0x50}).instruction;  // push rax
  EXPECT_EQ(push.destinations[0], no_register);
  EXPECT_EQ(push.sources[0], 0);
  EXPECT_EQ(push.kind, store);
}

TEST(Decode, DecodingAddsNothingToALoadThatOnlyLoads) {
  EXPECT_EQ(decoded({0x48, 0x8b, 0x03}).instruction.latency, 0);  // mov rax, [rbx]
  EXPECT_EQ(decoded({0x48, 0x0f, 0xb6, 0x03}).instruction.latency, 0);  // movzx rax, [rbx]
  EXPECT_EQ(decoded({0xc5, 0xfe, 0x6f, 0x03}).instruction.latency, 0);  // vmovdqu ymm0, [rbx]
  EXPECT_EQ(decoded({0x66, 0x0f, 0x38, 0x2a, 0x03}).instruction.latency, 0);  // movntdqa
  EXPECT_EQ(decoded({0x58}).instruction.latency, 0);  // pop rax
  EXPECT_EQ(decoded({0x48, 0x03, 0x03}).instruction.latency, 1);  // add rax, [rbx]
  EXPECT_EQ(decoded({0x48, 0x0f, 0xaf, 0x03}).instruction.latency, 3);  // imul rax, [rbx]
}

TEST(Decode, DecodingTellsMultiplicationsOfVectorsFromThoseOfNumbers) {
  const auto cost = [](std::initializer_list<int> bytes) {
    const Instruction made = decoded(bytes).instruction;
    return std::pair{static_cast<int>(made.latency), static_cast<int>(made.uops)};
  };
  EXPECT_EQ(cost({0x48, 0xf7, 0xe1}), (std::pair{3, 2}));  // mul rcx
  EXPECT_EQ(cost({0xf2, 0x0f, 0x59, 0xc1}), (std::pair{4, 1}));  // mulsd xmm0, xmm1
  EXPECT_EQ(cost({0xc5, 0xfb, 0x59, 0xc1}), (std::pair{4, 1}));  // vmulsd
  EXPECT_EQ(cost({0x66, 0x0f, 0x3a, 0x14, 0xc0, 0x01}), (std::pair{3, 2}));  // pextrb eax, xmm0, 1
  EXPECT_EQ(cost({0x48, 0x0f, 0xc7, 0x0b}),
            (std::pair{17, 2}));  // cmpxchg16b [rbx], its lock apart
}

TEST(Decode, DecodingTellsWhereAProgramCanContinue) {
  const auto end = [](std::initializer_list<int> bytes) { return decoded(bytes).end; };
  EXPECT_EQ(end({0x48, 0x01, 0xd8}), BlockEnd::next);  // add rax, rbx
  EXPECT_EQ(end({0x75, 0xfe}), BlockEnd::conditional);
  EXPECT_EQ(decoded({0x75, 0x10}).target, 0x1012u);  // jne, 16 bytes behind it
  EXPECT_EQ(end({0xeb, 0x10}), BlockEnd::jump);
  EXPECT_EQ(end({0xff, 0xe0}), BlockEnd::indirect);  // jmp rax
  EXPECT_EQ(end({0xe8, 0, 0, 0, 0}), BlockEnd::call);
  EXPECT_EQ(end({0xff, 0xd0}), BlockEnd::indirect_call);  // call rax
  EXPECT_EQ(end({0xc3}), BlockEnd::back);
  EXPECT_EQ(end({0xf3, 0xa4}), BlockEnd::conditional);  // rep movsb: again, or on
}

TEST(Decode, DecodingTellsWhichInstructionsFuseWithTheBranchBehindThem) {
  const auto fusion = [](std::initializer_list<int> bytes) { return decoded(bytes).fusion; };
  EXPECT_EQ(fusion({0x48, 0x85, 0xc0}), Fusion::any);  // test rax, rax
  EXPECT_EQ(fusion({0x48, 0x39, 0xd8}), Fusion::order);  // cmp rax, rbx
  EXPECT_EQ(fusion({0x48, 0x3b, 0x03}), Fusion::order);  // cmp rax, [rbx]
  EXPECT_EQ(fusion({0x48, 0x83, 0x3b, 0x07}), Fusion::none);  // cmp qword ptr [rbx], 7
  EXPECT_EQ(fusion({0x48, 0xff, 0xc8}), Fusion::equal);  // dec rax
  EXPECT_EQ(fusion({0x48, 0xff, 0x0b}), Fusion::none);  // dec qword ptr [rbx]
  EXPECT_EQ(fusion({0x48, 0x01, 0x03}), Fusion::none);  // add [rbx], rax
  EXPECT_EQ(fusion({0x48, 0x31, 0xd8}), Fusion::none);  // xor rax, rbx
  EXPECT_EQ(decoded({0x75, 0xfe}).condition, Condition::equal);  // jne
  EXPECT_EQ(decoded({0x77, 0xfe}).condition, Condition::carry);  // ja
  EXPECT_EQ(decoded({0x78, 0xfe}).condition, Condition::other);  // js
  EXPECT_EQ(decoded({0xeb, 0xfe}).condition, Condition::none);  // jmp
}

TEST(Decode, DecodingFindsTheAddressOfAFlush) {
  const AddressForm form = decoded({0x66, 0x0f, 0xae, 0x74, 0x8b, 0x40}).address;  // [rbx+rcx*4+64]
  EXPECT_TRUE(form.known);
  EXPECT_EQ(form.base, 3);
  EXPECT_EQ(form.index, 1);
  EXPECT_EQ(form.scale, 4);
  EXPECT_EQ(form.displacement, 64);
  const AddressForm relative =
      decoded({0x66, 0x0f, 0xae, 0x35, 0x10, 0, 0, 0}).address;  // [rip+16]
  EXPECT_EQ(relative.base, no_register);
  EXPECT_EQ(relative.displacement, 0x1000 + 8 + 16);
  EXPECT_FALSE(decoded({0x64, 0x66, 0x0f, 0xae, 0x33}).address.known);  // fs:[rbx]
}

TEST(Decode, DecodingRecognisesInstructionsThatQemuLacksAndThoseThatRepeat) {
  EXPECT_TRUE(decoded({0x62, 0xf1}).evex);  // as far as QEMU 7.2 reads vaddpd zmm
  EXPECT_FALSE(decoded({0x48, 0x01, 0xd8}).evex);
  EXPECT_TRUE(decoded({0xf3, 0xa4}).repeats);  // rep movsb
  EXPECT_FALSE(decoded({0xa4}).repeats);  // movsb
  EXPECT_TRUE(decoded({0x0f, 0x31}).counter);  // rdtsc
}

}  // namespace test_file
}  // namespace nearfar::frontend::qemu
