#include "gem5_stand_in.hh"
