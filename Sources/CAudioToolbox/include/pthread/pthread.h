// POSIX threads, at the path that newer programs for Apple's systems include.
#ifndef CUEJACK_PTHREAD_H
#define CUEJACK_PTHREAD_H
#include <pthread.h>
#endif
