"""A nearfar memory as SimObjects: one model, and a controller for each address range of it."""

from m5.objects.AbstractMemory import AbstractMemory
from m5.params import *
from m5.SimObject import SimObject


class NearfarModel(SimObject):
    type = "NearfarModel"
    cxx_header = "nearfar_memory.hh"
    cxx_class = "gem5::memory::NearfarModel"

    file = Param.String("a file that `nearfar model export` wrote, or a preset's name")
    trace = Param.String("", "file in the output directory for the requests that were accepted")


class NearfarMemCtrl(AbstractMemory):
    type = "NearfarMemCtrl"
    cxx_header = "nearfar_memory.hh"
    cxx_class = "gem5::memory::NearfarMemCtrl"

    port = ResponsePort("for requests")
    model = Param.NearfarModel("the memory, of which several controllers may have parts")
    device_start = Param.Addr(0, "where in the model the range begins")
    delay = Param.Latency("0ns", "from the model's answer to the response, for what lies between")
