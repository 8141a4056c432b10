// Functions of libdispatch and of the blocks runtime that Swift cannot call by itself: a queue of
// the C interface is no Swift object.
#include <dispatch/dispatch.h>

/// Gives back a queue that dispatch_queue_create… made.
static inline void cue_dispatch_queue_release(dispatch_queue_t queue) {
  dispatch_release(queue);
}

/// Keeps an object of any kind, and gives it back.
static inline void cue_dispatch_retain(void *object) {
  dispatch_retain((dispatch_object_t){object});
}
static inline void cue_dispatch_release(void *object) {
  dispatch_release((dispatch_object_t){object});
}

// The blocks runtime, which has no header where Swift looks for one.
void *_Nonnull _Block_copy(const void *_Nonnull block);
void _Block_release(const void *_Nonnull block);
