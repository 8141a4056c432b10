// A plugin that tries what a confined process may and may not do, and whose state is a file. While
// its input is 0, its output is the sum of the attempts that succeeded; otherwise it is the number
// in the file.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <lv2/atom/atom.h>
#include <lv2/core/lv2.h>
#include <lv2/state/state.h>
#include <lv2/urid/urid.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILE_KEY "urn:fixture:file"

typedef struct {
  float *ports[2];
  LV2_URID_Map *map;
  float succeeded, number;
} Plugin;

static bool opens(const char *path, int flags) {
  const int file = open(path, flags | O_CLOEXEC, 0600);
  if (file >= 0) close(file);
  return file >= 0;
}

static bool opens_in(const char *folder, const char *name, int flags) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return opens(path, flags);
}

static bool has_sockets(int type) {
  const int one = socket(AF_UNIX, type, 0);
  if (one >= 0) close(one);
  return one >= 0;
}

static bool has_pairs(void) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0) return false;
  close(pair[0]);
  close(pair[1]);
  return true;
}

static bool starts_programs(void) {
  char *const arguments[] = {"true", NULL};
  pid_t process;
  if (posix_spawn(&process, "/bin/true", NULL, NULL, arguments, NULL)) return false;
  waitpid(process, NULL, 0);
  return true;
}

static bool forks(void) {
  const pid_t process = fork();
  if (process == 0) _exit(0);
  if (process > 0) waitpid(process, NULL, 0);
  return process > 0;
}

static bool looks_into(pid_t process) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/environ", process);
  return opens(path, O_RDONLY);
}

static void *nothing(void *data) {
  return data;
}

static bool starts_threads(void) {
  pthread_t thread;
  return pthread_create(&thread, NULL, nothing, NULL) == 0 && pthread_join(thread, NULL) == 0;
}

static bool limits(pid_t process) {
  struct rlimit limit;
  return prlimit(process, RLIMIT_CORE, NULL, &limit) == 0;
}

static LV2_Handle instantiate(const LV2_Descriptor *descriptor, double rate, const char *bundle,
                              const LV2_Feature *const *features) {
  (void)descriptor, (void)rate;
  Plugin *plugin = calloc(1, sizeof *plugin);
  for (int i = 0; features[i]; ++i)
    if (!strcmp(features[i]->URI, LV2_URID__map)) plugin->map = features[i]->data;
  const char *secret = getenv("CUE_SECRET");
  const char *outside = getenv("CUE_OUTSIDE");
  const bool attempts[] = {
      // What it may do.
      opens_in(bundle, "manifest.ttl", O_RDONLY),
      opens_in(getenv("TMPDIR"), "made", O_WRONLY | O_CREAT),
      opens("/dev/null", O_RDWR),
      starts_threads(),
      kill(getpid(), 0) == 0,
      // What only a trusted plugin may do.
      opens(secret, O_RDONLY),
      opens(secret, O_WRONLY),
      opens_in(outside, "made", O_WRONLY | O_CREAT),
      opens_in(bundle, "made", O_WRONLY | O_CREAT),
      chmod(secret, 0600) == 0,
      truncate(secret, 0) == 0,
      unlink(secret) == 0,
      has_sockets(SOCK_STREAM),
      has_pairs(),
      starts_programs(),
      forks(),
      kill(getppid(), 0) == 0,
      looks_into(getppid()),
      limits(getppid()),
  };
  for (size_t i = 0; i < sizeof attempts / sizeof *attempts; ++i)
    if (attempts[i]) plugin->succeeded += (float)(1u << i);
  return plugin;
}

static void connect_port(LV2_Handle handle, uint32_t port, void *data) {
  ((Plugin *)handle)->ports[port] = data;
}

static void run(LV2_Handle handle, uint32_t frames) {
  const Plugin *plugin = handle;
  for (uint32_t i = 0; i < frames; ++i)
    plugin->ports[1][i] = plugin->ports[0][i] == 0 ? plugin->succeeded : plugin->number;
}

static void cleanup(LV2_Handle handle) {
  free(handle);
}

static const void *feature(const LV2_Feature *const *features, const char *uri) {
  for (int i = 0; features[i]; ++i)
    if (!strcmp(features[i]->URI, uri)) return features[i]->data;
  return NULL;
}

// Each time, the number is one more.
static LV2_State_Status save(LV2_Handle handle, LV2_State_Store_Function store,
                             LV2_State_Handle state, uint32_t flags,
                             const LV2_Feature *const *features) {
  (void)flags;
  Plugin *plugin = handle;
  const LV2_State_Make_Path *makes = feature(features, LV2_STATE__makePath);
  const LV2_State_Map_Path *maps = feature(features, LV2_STATE__mapPath);
  if (!makes || !maps) return LV2_STATE_ERR_NO_FEATURE;
  char *path = makes->path(makes->handle, "number.txt");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (!file) return LV2_STATE_ERR_UNKNOWN;
  fprintf(file, "%d", (int)plugin->number + 1);
  fclose(file);
  char *name = maps->abstract_path(maps->handle, path);
  const LV2_State_Status status =
      store(state, plugin->map->map(plugin->map->handle, FILE_KEY), name, strlen(name) + 1,
            plugin->map->map(plugin->map->handle, LV2_ATOM__Path), LV2_STATE_IS_POD);
  free(name);
  free(path);
  return status;
}

static LV2_State_Status restore(LV2_Handle handle, LV2_State_Retrieve_Function retrieve,
                                LV2_State_Handle state, uint32_t flags,
                                const LV2_Feature *const *features) {
  (void)flags;
  Plugin *plugin = handle;
  const LV2_State_Map_Path *maps = feature(features, LV2_STATE__mapPath);
  size_t size;
  uint32_t type, stored;
  const char *name =
      retrieve(state, plugin->map->map(plugin->map->handle, FILE_KEY), &size, &type, &stored);
  if (!maps || !name) return LV2_STATE_ERR_NO_PROPERTY;
  char *path = maps->absolute_path(maps->handle, name);
  FILE *file = fopen(path, "r");
  free(path);
  int number = -1;
  if (file && fscanf(file, "%d", &number) != 1) number = -2;
  if (file) fclose(file);
  plugin->number = (float)number;
  return LV2_STATE_SUCCESS;
}

static const void *extension_data(const char *uri) {
  static const LV2_State_Interface state = {save, restore};
  return strcmp(uri, LV2_STATE__interface) ? NULL : &state;
}

static const LV2_Descriptor descriptor = {"urn:fixture", instantiate, connect_port, NULL,
                                          run,           NULL,        cleanup,      extension_data};

LV2_SYMBOL_EXPORT const LV2_Descriptor *lv2_descriptor(uint32_t index) {
  return index == 0 ? &descriptor : NULL;
}
