#include "sst_stand_in.h"
