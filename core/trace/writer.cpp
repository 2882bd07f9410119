#include "trace/writer.h"

#include "base/error.h"

namespace nearfar::trace {

void refuse_record(const Record& record, std::string_view syntax, std::string_view format) {
  throw InputError("the access of line " + std::to_string(record.line) + " cannot be written as '" +
                   std::string(syntax) + "' (" + std::string(format) + "); choose another format");
}

void TextWriter::put(const Record& record, std::string& out) {
  if (record.absolute) {
    moment_.gap = record.cycles > moment_.cycle ? record.cycles - moment_.cycle : 0;
    moment_.cycle = record.cycles;
  } else {
    moment_.gap = record.cycles;
    moment_.cycle += record.cycles;
  }
  const bool in_text = record.access == Access::read || record.access == Access::write;
  if (!in_text || !format_.write(record, moment_, text_)) {
    refuse_record(record, format_.syntax, format_.name);
  }
  moment_.first = false;

  const std::size_t open = text_.find_last_of('\n');
  if (open == std::string::npos) return;
  out.append(text_, 0, open + 1);
  text_.erase(0, open + 1);
}

void TextWriter::finish(std::string& out) {
  if (moment_.first) return;
  out.append(text_).append("\n");
  text_.clear();
  moment_ = {};
}

}  // namespace nearfar::trace
