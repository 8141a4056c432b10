// Compiles the header by itself, so that clang checks the promises in it.
#include "CRealTime.h"
