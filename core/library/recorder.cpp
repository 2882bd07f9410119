#include "library/recorder.h"

#include <ios>

#include "base/error.h"

namespace nearfar::library {

Recorder::Recorder(const std::string& path) : file_(path, std::ios::binary) {
  if (!file_) throw InputError(path + ": cannot be written, expected a file for the trace");
}

void Recorder::accepted(const sim::Request& request, Tick now) {
  file_ << "0x" << std::hex << request.address.value()
        << (request.op == sim::Op::write ? " WRITE " : " READ ") << std::dec << now.ps() << '\n';
}

}  // namespace nearfar::library
