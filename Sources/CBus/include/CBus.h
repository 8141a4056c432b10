// sd-bus of libsystemd, as Swift sees it: version 246 or later. Programs are not linked to it, but
// call its functions through a table of pointers, so that only a player on a desktop needs the
// library. The functions are declared here because nothing else needs systemd's headers.
#pragma once
#include <stdint.h>

typedef struct sd_bus sd_bus;
typedef struct sd_bus_slot sd_bus_slot;
typedef struct sd_bus_message sd_bus_message;
typedef struct {
  const char *name;
  const char *message;
  int _need_free;
} sd_bus_error;
typedef int (*sd_bus_message_handler_t)(sd_bus_message *message, void *data, sd_bus_error *error);

int sd_bus_add_object(sd_bus *bus, sd_bus_slot **slot, const char *path,
                      sd_bus_message_handler_t handler, void *data);
int sd_bus_error_set(sd_bus_error *error, const char *name, const char *message);
sd_bus *sd_bus_flush_close_unref(sd_bus *bus);
int sd_bus_get_events(sd_bus *bus);
int sd_bus_get_fd(sd_bus *bus);
int sd_bus_get_timeout(sd_bus *bus, uint64_t *microseconds);
int sd_bus_message_append_basic(sd_bus_message *message, char type, const void *value);
int sd_bus_message_close_container(sd_bus_message *message);
int sd_bus_message_enter_container(sd_bus_message *message, char type, const char *contents);
const char *sd_bus_message_get_interface(sd_bus_message *message);
const char *sd_bus_message_get_member(sd_bus_message *message);
int sd_bus_message_new_method_return(sd_bus_message *call, sd_bus_message **reply);
int sd_bus_message_new_signal(sd_bus *bus, sd_bus_message **signal, const char *path,
                              const char *interface, const char *member);
int sd_bus_message_open_container(sd_bus_message *message, char type, const char *contents);
int sd_bus_message_peek_type(sd_bus_message *message, char *type, const char **contents);
int sd_bus_message_read_basic(sd_bus_message *message, char type, void *value);
sd_bus_message *sd_bus_message_unref(sd_bus_message *message);
int sd_bus_open_user(sd_bus **bus);
int sd_bus_process(sd_bus *bus, sd_bus_message **message);
int sd_bus_request_name(sd_bus *bus, const char *name, uint64_t flags);
int sd_bus_send(sd_bus *bus, sd_bus_message *message, uint64_t *cookie);

// The functions that Cuejack calls.
struct cue_bus_functions {
#define FUNCTION(name) __typeof__(name) *name
#include "functions.inc"
#undef FUNCTION
};

// Returns a file that wakes a wait when it is written to; -1 if the system has none.
__attribute__((visibility("hidden"))) int cue_bus_waker(void);

// Returns the functions; NULL if the library cannot be loaded. The first call loads it.
__attribute__((visibility("hidden"))) const struct cue_bus_functions *cue_bus(void);
