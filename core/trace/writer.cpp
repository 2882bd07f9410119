#include "trace/writer.h"

#include "base/error.h"

namespace nearfar::trace {

void Writer::put(const Record& record, std::string& out) {
  if (record.absolute) {
    moment_.gap = record.cycles > moment_.cycle ? record.cycles - moment_.cycle : 0;
    moment_.cycle = record.cycles;
  } else {
    moment_.gap = record.cycles;
    moment_.cycle += record.cycles;
  }
  if (!format_.write(record, moment_, text_)) {
    throw InputError("the access of line " + std::to_string(record.line) +
                     " cannot be written as '" + std::string(format_.syntax) + "' (" +
                     std::string(format_.name) + "); choose another format");
  }
  moment_.first = false;

  const std::size_t open = text_.find_last_of('\n');
  if (open == std::string::npos) return;
  out.append(text_, 0, open + 1);
  text_.erase(0, open + 1);
}

void Writer::finish(std::string& out) {
  if (moment_.first) return;
  out.append(text_).append("\n");
  text_.clear();
  moment_ = {};
}

}  // namespace nearfar::trace
