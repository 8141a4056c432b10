// liblo, as Swift sees it. It includes two headers of glibc that its declarations do not need. They
// would make the types of sockets belong to this module, so that files that import Glibc do not
// find them.
#pragma push_macro("_NETDB_H")
#pragma push_macro("_NETINET_IN_H")
#undef _NETDB_H
#undef _NETINET_IN_H
#define _NETDB_H      1
#define _NETINET_IN_H 1
#include <lo/lo.h>
#pragma pop_macro("_NETINET_IN_H")
#pragma pop_macro("_NETDB_H")

/// lo_message_add_blob. A blob is a pointer without a type before liblo 0.32, and with one since.
static inline int cue_lo_message_add_blob(lo_message message, void *blob) {
  return lo_message_add_blob(message, blob);
}
