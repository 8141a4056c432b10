// Compiles the header by itself, so that clang checks the attributes in it.
#include "CRealTime.h"
