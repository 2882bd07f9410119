#include "base/settings.h"

#include <string>

#include <gtest/gtest.h>

#include "base/error.h"
#include "machine_fixture.h"
#include "sim/nvdimm/config.h"

namespace nearfar {
namespace test_file {

std::string error_of(const auto& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Settings, SettingsReadEveryKindOfValue) {
  const Settings settings = Settings::parse(
      "# exported\n\n  a.count = 12\r\nb.time=750\n c.name = open \nd.flag = true\n"
      "e.real = 0.165\nf.flag = false\nlast = 18446744073709551615");
  EXPECT_EQ(settings.count("a.count"), 12u);
  EXPECT_EQ(settings.time("b.time"), Tick(750));
  EXPECT_EQ(settings.name("c.name"), "open");
  EXPECT_TRUE(settings.flag("d.flag"));
  EXPECT_FALSE(settings.flag("f.flag"));
  EXPECT_DOUBLE_EQ(settings.real("e.real"), 0.165);
  EXPECT_EQ(settings.count("last"), ~std::uint64_t{0});
}

TEST(Settings, SettingsNameALineThatIsNoSetting) {
  EXPECT_NE(error_of([] { (void)Settings::parse("a = 1\n\nfoo\n"); }).find("line 3"),
            std::string::npos);
  EXPECT_NE(error_of([] { (void)Settings::parse("= 1\n"); }).find("line 1"), std::string::npos);
}

TEST(Settings, SettingsRefuseAKeyThatAppearsTwice) {
  const std::string error = error_of([] { (void)Settings::parse("a = 1\nb = 2\na = 1\n"); });
  EXPECT_NE(error.find("line 3"), std::string::npos);
  EXPECT_NE(error.find("'a'"), std::string::npos);
}

TEST(Settings, SettingsNameTheKeyThatIsMissingOrUnreadable) {
  const Settings settings =
      Settings::parse("n = 12x\nm = -1\nf = yes\nr = 1.5.2\nbig = 18446744073709551616\ne =\n");
  EXPECT_NE(error_of([&] { (void)settings.count("none.such"); }).find("'none.such' is missing"),
            std::string::npos);
  for (const char* key : {"n", "m", "big", "e"}) {
    EXPECT_NE(error_of([&] { (void)settings.count(key); }).find("a whole number"),
              std::string::npos)
        << key;
  }
  EXPECT_NE(error_of([&] { (void)settings.flag("f"); }).find("true or false"), std::string::npos);
  EXPECT_NE(error_of([&] { (void)settings.real("r"); }).find("a number"), std::string::npos);
}

TEST(Settings, SettingsReportAnErrorInOneLine) {
  const std::string error = error_of([] { (void)Settings::parse("nonsense\n"); });
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
}

struct Misfit {
  const char* key;
  const char* value;
  const char* told;  ///< what the message has to name
};

class OptaneSettings : public ::testing::TestWithParam<Misfit> {};

TEST_P(OptaneSettings, OptaneSettingsThatContradictEachOtherAreAnErrorThatNamesThem) {
  const auto [key, value, told] = GetParam();
  const Settings settings = sim::testing::optane({{key, value}});
  const std::string error = error_of([&] { const sim::Machine machine(settings); });
  EXPECT_NE(error.find(told), std::string::npos) << error;
}

INSTANTIATE_TEST_SUITE_P(
    Misfits, OptaneSettings,
    ::testing::Values(Misfit{"machine", "abacus", "abacus"},
                      Misfit{"nvdimm.buffer.1.ways", "63", "nvdimm.buffer.1.ways"},
                      Misfit{"nvdimm.buffer.2.entries", "0", "nvdimm.buffer.2."},
                      Misfit{"nvdimm.buffer.1.policy", "plru", "nvdimm.buffer.1.policy"},
                      Misfit{"nvdimm.buffer.2.fill", "half", "fill"},
                      Misfit{"nvdimm.buffer.1.entry", "96", "entry"},
                      Misfit{"nvdimm.buffer.2.entry", "65536", "entry"},
                      Misfit{"nvdimm.media.access", "0", "nvdimm.media.access"},
                      Misfit{"nvdimm.wear.block", "1000", "nvdimm.wear.block"},
                      Misfit{"nvdimm.table.entry", "1000000000", "on-DIMM DRAM"}));

TEST(OptaneSettings, MissingOptaneSettingsAreNamed) {
  Settings settings = Settings::parse("machine = nvdimm\nchannels = 1\nimc.interleave = 4096\n");
  EXPECT_NE(error_of([&] { const sim::Machine machine(settings); }).find("imc."),
            std::string::npos);
}

}  // namespace test_file
}  // namespace nearfar
