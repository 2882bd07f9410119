// An exported model as the library reads it: its name, its hash, and the version that wrote it.

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "base/sha256.h"
#include "library/model.h"

namespace nearfar::library {
namespace test_file {

std::string message_of(const std::string& text) {
  try {
    static_cast<void>(Model::parse(text, "0.2.0"));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// The vectors of FIPS 180-4's examples, and a message of exactly one block.
TEST(Sha256, GivesTheDigestsOfTheStandard) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(sha256(std::string(64, 'a')),
            "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

TEST(ExportedModel, IsNamedByItsFirstLineAndHashedWithoutIt) {
  const Model named = Model::parse("# nearfar 0.2.0 optane-100,channels=2\na = 1\n", "0.2.0");
  EXPECT_EQ(named.name, "optane-100,channels=2");
  EXPECT_EQ(named.hash, "sha256:" + sha256("a = 1\n"));
  EXPECT_EQ(named.settings.count("a"), 1u);
}

TEST(ExportedModel, IsTheSameWithoutANameAndWithOtherEndsOfLines) {
  const Model plain = Model::parse("a = 1\n", "0.2.0");
  EXPECT_EQ(plain.name, "unnamed");
  EXPECT_EQ(Model::parse("# nearfar 0.2.0 x\r\na = 1\r\n", "0.2.0").hash, plain.hash);
  EXPECT_EQ(Model::parse("# nearfar 0.2.0 x\r\na = 1\r\n", "0.2.0").name, "x");
}

TEST(ExportedModel, OfAnotherVersionIsRefused) {
  EXPECT_EQ(message_of("# nearfar 0.1.0 x\na = 1\n"),
            "model: was exported by nearfar 0.1.0, expected 0.2.0, the library's own version; "
            "export it again");
}

}  // namespace test_file
}  // namespace nearfar::library
