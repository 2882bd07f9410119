// What the checker is given: the limits of a speed bin or of a model's settings, and command
// traces as CSV.

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>

#include "base/error.h"
#include "checker/checker.h"
#include "checker/machines.h"
#include "checker/scenarios.h"
#include "checker/speed_bins.h"

namespace nearfar::checker {
namespace test_file {

TEST(SpeedBins, SpeedBinsAgreeWithTheNumbersInWriting) {
  Limits bin = speed_bin({2666, 8, 8});
  const Limits written = ddr4_2666v();
  EXPECT_EQ(bin.ras, written.ras);
  EXPECT_EQ(bin.rc, written.rc);
  EXPECT_EQ(bin.ccd_l, written.ccd_l);
  EXPECT_EQ(bin.rrd_s, written.rrd_s);
  EXPECT_EQ(bin.rrd_l, written.rrd_l);
  EXPECT_EQ(bin.faw, written.faw);
  EXPECT_EQ(bin.wtr_s, written.wtr_s);
  EXPECT_EQ(bin.wtr_l, written.wtr_l);
  EXPECT_EQ(bin.wr, written.wr);
  EXPECT_EQ(bin.rtp, written.rtp);
  EXPECT_EQ(bin.rfc, written.rfc);
  EXPECT_EQ(bin.refi, written.refi);
  EXPECT_EQ(bin.xp, written.xp);
  EXPECT_EQ(bin.cke, written.cke);
  EXPECT_EQ(bin.ckesr, written.ckesr);
  EXPECT_EQ(bin.xs, written.xs);
  EXPECT_EQ(bin.rows, written.rows);
}

constexpr const char* csv_header =
    "time_ps,device,channel,rank,bank_group,bank,command,row,column\n";

TEST(CommandTraceCsv, ACommandTraceCsvIsReadByDeviceAndChannel) {
  std::stringstream in;
  in << csv_header << "75000,dram,0,1,2,3,ACT,77,\n"
     << "76500,dimm0,0,0,,,REF,,\n"
     << "88500,dram,0,1,2,3,RD,,8\n";
  const TraceFile traces = read_csv(in);
  ASSERT_EQ(traces.size(), 2u);
  const Trace& dram = traces.at({"dram", 0});
  ASSERT_EQ(dram.size(), 2u);
  EXPECT_EQ(dram[0].row, 77u);
  EXPECT_FALSE(dram[1].row.has_value());
  RuleSet expected;
  expected.add(Rule::tRCD);
  EXPECT_EQ(check(dram, ddr4_2666v()).broken(), expected);
  EXPECT_TRUE(check(traces.at({"dimm0", 0}), ddr4_2666v()).passes());
}

TEST(CommandTraceCsv, ACommandTraceCsvReaderRefusesOtherText) {
  const auto message = [](const std::string& text) -> std::string {
    std::istringstream in(text);
    try {
      (void)read_csv(in);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  const std::string header(csv_header);
  EXPECT_EQ(message(""), "command trace is empty: not even a header");
  EXPECT_EQ(message("time,rank\n"),
            "command trace, line 1: expected the header "
            "time_ps,device,channel,rank,bank_group,bank,command,row,column");
  EXPECT_EQ(message(header + "1,d,0,0,0,0,ACT,1\n"), "command trace, line 2: expected 9 fields");
  EXPECT_EQ(message(header + "1,d,0,0,0,0,ACT,1,,\n"), "command trace, line 2: expected 9 fields");
  EXPECT_EQ(message(header + "1,d,0,0,0,0,REFPB,,\n"),
            "command trace, line 2: unknown command 'REFPB'");
  EXPECT_EQ(message(header + "1,d,0,0,,,REFSB,,\n"), "command trace, line 2: bank is blank");
  EXPECT_EQ(message(header + "x,d,0,0,,,REF,,\n"),
            "command trace, line 2: time_ps is 'x', expected a whole number");
  EXPECT_EQ(message(header + "1,d,0,0,0,0,ACT,,\n"),
            "command trace, line 2: row of an ACT is blank");
  EXPECT_EQ(message(header + "1,d,0,0,0,,PRE,,\n"), "command trace, line 2: bank is blank");
}

TEST(LimitsFromSettings, LimitsFromSettingsAreThoseThatTheSettingsState) {
  Machine machine;
  machine.ranks = 3;
  for (const Device& device : {Device{2400, 4, 4}, Device{2933, 16, 8}, Device{3200, 8, 16}}) {
    machine.device = device;
    EXPECT_EQ(limits_from("# exported\n" + machine.settings("nvdimm.dram."), "nvdimm.dram"),
              machine.limits());
  }
  const std::string off = machine.settings("dram.") + "dram.refresh.enabled = false\n";
  EXPECT_EQ(limits_from(off, "dram.").refi, 0u);
}

TEST(LimitsFromSettings, LimitsFromSettingsTakeEachTimingFromItsOwnKey) {
  const std::pair<const char*, std::uint64_t Limits::*> timings[] = {
      {"cl", &Limits::cl},       {"cwl", &Limits::cwl},     {"rcd", &Limits::rcd},
      {"rp", &Limits::rp},       {"ras", &Limits::ras},     {"rc", &Limits::rc},
      {"ccd_s", &Limits::ccd_s}, {"ccd_l", &Limits::ccd_l}, {"rrd_s", &Limits::rrd_s},
      {"rrd_l", &Limits::rrd_l}, {"faw", &Limits::faw},     {"wtr_s", &Limits::wtr_s},
      {"wtr_l", &Limits::wtr_l}, {"wr", &Limits::wr},       {"rtp", &Limits::rtp},
      {"rfc", &Limits::rfc},     {"refi", &Limits::refi},   {"xp", &Limits::xp},
      {"cke", &Limits::cke},     {"ckesr", &Limits::ckesr}, {"xs", &Limits::xs},
      {"rtrs", &Limits::rtrs},   {"dllk", &Limits::xsdll},
  };
  std::string settings = Machine{}.settings("dram.");
  std::uint64_t value = 1000;
  for (const auto& [key, member] : timings) {
    settings += std::string("dram.timing.") + key + " = " + std::to_string(value++) + '\n';
  }
  const Limits limits = limits_from(settings, "dram.");
  value = 1000;
  for (const auto& [key, member] : timings) EXPECT_EQ(limits.*member, value++) << key;
}

TEST(LimitsFromSettings, LimitsFromSettingsRefuseAWriteLatencyBeyondTheEndOfAReadsBurst) {
  const std::string settings = Machine{}.settings("dram.") + "dram.timing.cl = 10\n";
  EXPECT_EQ(limits_from(settings + "dram.timing.cwl = 14\n", "dram").cwl, 14u);
  EXPECT_THROW((void)limits_from(settings + "dram.timing.cwl = 15\n", "dram"), InputError);
}

TEST(LimitsFromSettings, LimitsFromSettingsUseTheKeysBelowThePrefixAndNameAMissingOne) {
  const std::string other = "nvdimm.dram.clock_ps = 833\ndram.clock_ps = 750\n";
  try {
    (void)limits_from(other, "dram");
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "settings lack dram.timing.cl");
  }
  try {
    (void)limits_from("dram.clock_ps = 0.75\n", "dram.");
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "dram.clock_ps is '0.75', expected a whole number");
  }
}

}  // namespace test_file
}  // namespace nearfar::checker
