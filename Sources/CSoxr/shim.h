// soxr, as Swift sees it.
#include <soxr.h>
