// libebur128, as Swift sees it: loudness by ITU-R BS.1770 and EBU R 128.
#include <ebur128.h>

// The library's modes are an enumeration that Swift does not combine.
static const int cue_ebur128_all = EBUR128_MODE_I | EBUR128_MODE_LRA | EBUR128_MODE_TRUE_PEAK;
