// plain-lv2-host: runs a plugin through the steps of `cuejack plugins check`, without Cuejack's
// code.
#include "plain.h"
#include <lv2/presets/presets.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static plugin_facts facts;
static bool has_failed = false;
/// The byte that new memory is filled with; negative to leave it as it comes, mostly zero.
static int fill = -1;

extern void *__libc_malloc(size_t bytes);

void *malloc(size_t bytes) {
  void *block = __libc_malloc(bytes);
  if (block && fill >= 0) memset(block, fill, bytes);
  return block;
}

/// Prints the next step of the plugin. The last line shows where it died.
static void step(const char *what) {
  printf("step: %s\n", what);
  fflush(stdout);
}

/// Prints a fault: a word that scripts read, and the step.
static void fail(const char *fault, const char *where) {
  printf("fault: %s %s\n", fault, where);
  fflush(stdout);
  has_failed = true;
}

static instance *made(double rate, int32_t longest, bool is_offline) {
  char text[64];
  snprintf(text, sizeof text, "is instantiated at %.0f Hz", rate);
  step(text);
  instance *it = make(&facts, rate, longest, is_offline);
  if (it) return it;
  fail("refused", text);
  exit(1);
}

static instance *ready(double rate, bool is_offline) {
  instance *it = made(rate, 1024, is_offline);
  activate(it);
  return it;
}

static void finish(instance *it, const char *where) {
  if (it->wrote_no_number && where) fail("numbers", where);
  for (uint32_t i = 0; i < facts.count; ++i) {
    if (!facts.ports[i].is_latency || !where) continue;
    if (!(it->controls[i] >= -0.5 && it->controls[i] <= 30 * it->rate)) fail("latency", where);
  }
  step("is freed");
  end(it);
}

static void run_at(double rate, double seconds) {
  instance *it = ready(rate, false);
  const uint32_t lengths[] = {64, 17, 1024};
  char text[64];
  for (int i = 0; i < 3; ++i) {
    snprintf(text, sizeof text, "runs in blocks of %u frames at %.0f Hz", lengths[i], rate);
    step(text);
    int64_t last = it->frame + (int64_t)(seconds / 3 * rate);
    for (int block = 0; it->frame < last; ++block)
      run_block(it, lengths[i], block % 8 == 0);
  }
  finish(it, text);
}

static float bound(const port *port, float value, double rate) {
  return port->is_in_rates ? value * (float)rate : value;
}

static void turn_controls(void) {
  instance *it = ready(48000, false);
  for (uint32_t i = 0; i < facts.count; ++i) {
    const port *port = &facts.ports[i];
    float low = bound(port, port->low, 48000), high = bound(port, port->high, 48000);
    if (port->kind != CONTROL_IN || !isfinite(low) || !isfinite(high) || low > high) continue;
    char text[256];
    snprintf(text, sizeof text, "has its control “%s” turned", port->symbol);
    step(text);
    for (int part = 0; part <= 4; ++part) {
      float value = low + (high - low) * (float)part / 4;
      if (port->is_whole || port->is_toggle) value = roundf(value);
      if (port->is_toggle) value = part < 2 ? fminf(fmaxf(0, low), high) : high;
      value = fminf(fmaxf(value, low), high);
      run_block(it, 20, false);
      // The last step is made in two halves.
      if (part == 4) {
        it->controls[i] += (value - it->controls[i]) / 2;
        run_block(it, 32, false);
      }
      it->controls[i] = value;
      run_block(it, 204, false);
    }
    if (port->usual >= low && port->usual <= high) it->controls[i] = port->usual;
    run_block(it, 64, false);
  }
  finish(it, NULL);
}

static void save_and_restore(void) {
  char folder[sizeof facts.folder + 16];
  snprintf(folder, sizeof folder, "%s/state", facts.folder);
  instance *it = ready(48000, false);
  run_block(it, 256, false);
  for (uint32_t i = 0; i < facts.count; ++i) {
    const port *port = &facts.ports[i];
    float low = bound(port, port->low, 48000), high = bound(port, port->high, 48000);
    if (port->kind != CONTROL_IN || !isfinite(low) || !isfinite(high) || low > high) continue;
    it->controls[i] = port->is_whole || port->is_toggle ? low : low + (high - low) / 4;
  }
  run_block(it, 256, false);
  step("saves its state");
  LilvState *state = state_of(it, folder);
  int status = state ? lilv_state_save(facts.world, &map_feature, &unmap_feature, state, NULL,
                                       folder, "state.ttl")
                     : 1;
  lilv_state_free(state);
  strcat(folder, "/state.ttl");
  state = status ? NULL : lilv_state_new_from_file(facts.world, &map_feature, NULL, folder);
  if (!state) {
    fail("state", "cannot be saved and read");
    end(it);
    return;
  }
  step("restores its state");
  restore(it, state);
  run_block(it, 256, false);
  step("restores its state in a new instance");
  instance *second = made(48000, 1024, false);
  restore(second, state);
  activate(second);
  run_block(second, 256, false);
  for (uint32_t i = 0; i < facts.count; ++i) {
    const port *port = &facts.ports[i];
    if (port->kind != CONTROL_IN || port->is_passing) continue;
    if (fabsf(it->controls[i] - second->controls[i]) > 1e-4f * fmaxf(1, fabsf(it->controls[i])))
      fail("state", port->symbol);
  }
  lilv_state_free(state);
  finish(second, "after its state was restored");
  finish(it, NULL);
}

static void load_presets(void) {
  LilvNode *type = lilv_new_uri(facts.world, LV2_PRESETS__Preset);
  LilvNodes *presets = lilv_plugin_get_related(facts.plugin, type);
  lilv_node_free(type);
  if (lilv_nodes_size(presets) == 0) return;
  instance *it = ready(48000, false);
  LILV_FOREACH(nodes, i, presets) {
    const LilvNode *preset = lilv_nodes_get(presets, i);
    lilv_world_load_resource(facts.world, preset);
    LilvState *state = lilv_state_new_from_world(facts.world, &map_feature, preset);
    printf("step: loads its preset <%s>\n", lilv_node_as_string(preset));
    fflush(stdout);
    if (!state) {
      fail("preset", lilv_node_as_string(preset));
      continue;
    }
    restore(it, state);
    lilv_state_free(state);
    run_block(it, 256, false);
  }
  lilv_nodes_free(presets);
  finish(it, NULL);
}

static instance *remade(instance *it, double rate, int32_t longest) {
  LilvState *state = state_of(it, NULL);
  end(it);
  it = made(rate, longest, false);
  if (state) restore(it, state);
  lilv_state_free(state);
  activate(it);
  return it;
}

static void change_lengths(void) {
  instance *it = ready(48000, false);
  run_block(it, 1024, false);
  const int32_t lengths[] = {2048, 128, 4096};
  for (int i = 0; i < 3; ++i) {
    char text[64];
    snprintf(text, sizeof text, "is told of blocks of %d frames", lengths[i]);
    step(text);
    if (!tell_length(it, lengths[i])) it = remade(it, 48000, lengths[i]);
    run_block(it, (uint32_t)lengths[i], false);
  }
  bool wrote_no_number = it->wrote_no_number;
  step("is told of another rate");
  it = remade(it, 44100, 512);
  run_block(it, 512, false);
  if (wrote_no_number) fail("numbers", "after its block length changed");
  finish(it, "after the rate changed");
}

static void run_offline(double seconds) {
  instance *it = ready(48000, true);
  step("runs offline");
  while (it->frame < (int64_t)(seconds / 3 * 48000))
    run_block(it, 1024, true);
  finish(it, "offline");
}

/// Returns what an instance makes of a second of noise with a note, channel after channel. The
/// caller frees it.
static float *sound_of(instance *it, size_t *samples) {
  enum {
    BLOCK = 512,
    BLOCKS = 94
  };
  size_t outputs = 0;
  for (uint32_t i = 0; i < facts.count; ++i)
    outputs += facts.ports[i].kind == SOUND_OUT;
  *samples = outputs * BLOCK * BLOCKS;
  float *all = calloc(*samples + 1, sizeof *all), *next = all;
  for (int block = 0; block < BLOCKS; ++block) {
    run_block(it, BLOCK, block == 0);
    for (uint32_t i = 0; i < facts.count; ++i) {
      if (facts.ports[i].kind != SOUND_OUT) continue;
      memcpy(next, it->buffers[i], BLOCK * sizeof *next);
      next += BLOCK;
    }
  }
  return all;
}

/// Compares the sound of an instance with that of one that got the first one's state, and with that
/// of one that got none, where new memory is filled with a byte. Returns the first one's sound,
/// which the caller frees.
static float *compare_restored(int byte, size_t *count) {
  fill = byte;
  instance *it = ready(48000, true), *other = made(48000, 1024, true), *third = ready(48000, true);
  LilvState *state = state_of(it, NULL);
  restore(other, state);
  activate(other);
  size_t samples;
  float *first = sound_of(it, &samples), *second = sound_of(other, &samples),
        *last = sound_of(third, &samples);
  bool is_steady = !memcmp(first, last, samples * sizeof *first);
  bool is_restored = !memcmp(first, second, samples * sizeof *first);
  printf("step: two instances give %s; a restored one gives %s, where new memory is %d\n",
         is_steady ? "the same" : "other samples", is_restored ? "the same" : "other samples",
         byte);
  if (is_steady && !is_restored) fail("restored", "a restored instance gives other samples");
  free(second);
  free(last);
  lilv_state_free(state);
  end(it);
  end(other);
  end(third);
  fill = -1;
  *count = samples;
  return first;
}

/// Compares restored instances where memory is zero, and where it is not, and the sounds of both.
static void compare_all(void) {
  size_t samples, again;
  float *zero = compare_restored(0, &samples), *other = compare_restored(0x55, &again);
  if (samples == again && memcmp(zero, other, samples * sizeof *zero) != 0)
    fail("memory", "an instance gives other samples where new memory is not zero");
  free(zero);
  free(other);
}

/// Prints every plugin and its bundle's path, one per line.
static void list(LilvWorld *world) {
  const LilvPlugins *plugins = lilv_world_get_all_plugins(world);
  LILV_FOREACH(plugins, i, plugins) {
    const LilvPlugin *plugin = lilv_plugins_get(plugins, i);
    char *path = lilv_file_uri_parse(lilv_node_as_uri(lilv_plugin_get_bundle_uri(plugin)), NULL);
    printf("%s\t%s\n", lilv_node_as_uri(lilv_plugin_get_uri(plugin)), path ? path : "");
    lilv_free(path);
  }
}

int main(int count, char **words) {
  if (getenv("DIRTY_MEMORY")) fill = 0xff;
  LilvWorld *world = lilv_world_new();
  lilv_world_load_all(world);
  if (count == 2 && !strcmp(words[1], "list")) {
    list(world);
    lilv_world_free(world);
    return 0;
  }
  bool compares = count == 3 && !strcmp(words[2], "restored");
  double seconds = count == 3 ? atof(words[2]) : 0;
  if (!(seconds > 0) && !compares) {
    fprintf(stderr, "usage: plain-lv2-host list\n       plain-lv2-host URI SECONDS\n"
                    "       plain-lv2-host URI restored\n");
    return 64;
  }
  if (!read_facts(&facts, world, words[1])) {
    fprintf(stderr, "there is no plugin <%s>\n", words[1]);
    return 2;
  }
  // The caller reports a crash, so no core file is needed.
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  const char *folder = getenv("TMPDIR");
  snprintf(facts.folder, sizeof facts.folder, "%s/plain-lv2-host-XXXXXX", folder ? folder : "/tmp");
  if (!mkdtemp(facts.folder)) {
    fprintf(stderr, "%s cannot be made\n", facts.folder);
    return 2;
  }
  if (compares) {
    compare_all();
    return has_failed;
  }
  const double rates[] = {44100, 48000, 96000};
  for (int i = 0; i < 3; ++i)
    run_at(rates[i], seconds);
  turn_controls();
  save_and_restore();
  load_presets();
  change_lengths();
  run_offline(seconds);
  return has_failed ? 1 : 0;
}
