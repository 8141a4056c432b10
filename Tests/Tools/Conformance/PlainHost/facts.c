#include "plain.h"
#include <lv2/atom/atom.h>
#include <lv2/buf-size/buf-size.h>
#include <lv2/core/lv2.h>
#include <lv2/midi/midi.h>
#include <lv2/port-props/port-props.h>
#include <lv2/time/time.h>
#include <stdlib.h>
#include <string.h>

// MARK: URIs as numbers

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static char *table[1 << 16];

static LV2_URID map_uri(LV2_URID_Map_Handle handle, const char *uri) {
  (void)handle;
  pthread_mutex_lock(&table_lock);
  LV2_URID i = 1;
  while (i < 65535 && table[i] && strcmp(table[i], uri))
    ++i;
  if (!table[i]) table[i] = strdup(uri);
  pthread_mutex_unlock(&table_lock);
  return i;
}

static const char *unmap_uri(LV2_URID_Unmap_Handle handle, LV2_URID urid) {
  (void)handle;
  return urid < 65536 ? table[urid] : NULL;
}

LV2_URID_Map map_feature = {NULL, map_uri};
LV2_URID_Unmap unmap_feature = {NULL, unmap_uri};

LV2_URID map(const char *uri) {
  return map_uri(NULL, uri);
}

// MARK: The bundle

bool read_facts(plugin_facts *facts, LilvWorld *world, const char *uri) {
  LilvNode *node = lilv_new_uri(world, uri);
  facts->world = world;
  facts->plugin = node ? lilv_plugins_get_by_uri(lilv_world_get_all_plugins(world), node) : NULL;
  lilv_node_free(node);
  if (!facts->plugin) return false;
  const LilvPlugin *plugin = facts->plugin;
  facts->count = lilv_plugin_get_num_ports(plugin);
  facts->ports = calloc(facts->count + 1, sizeof(port));
  float *ranges = calloc(3 * facts->count + 1, sizeof(float));
  lilv_plugin_get_port_ranges_float(plugin, ranges, ranges + facts->count,
                                    ranges + 2 * facts->count);
  LilvNode *audio = lilv_new_uri(world, LV2_CORE__AudioPort);
  LilvNode *cv = lilv_new_uri(world, LV2_CORE__CVPort);
  LilvNode *control = lilv_new_uri(world, LV2_CORE__ControlPort);
  LilvNode *atom = lilv_new_uri(world, LV2_ATOM__AtomPort);
  LilvNode *input = lilv_new_uri(world, LV2_CORE__InputPort);
  LilvNode *midi = lilv_new_uri(world, LV2_MIDI__MidiEvent);
  LilvNode *position = lilv_new_uri(world, LV2_TIME__Position);
  LilvNode *rates = lilv_new_uri(world, LV2_CORE__sampleRate);
  LilvNode *integer = lilv_new_uri(world, LV2_CORE__integer);
  LilvNode *enumeration = lilv_new_uri(world, LV2_CORE__enumeration);
  LilvNode *toggled = lilv_new_uri(world, LV2_CORE__toggled);
  LilvNode *trigger = lilv_new_uri(world, LV2_PORT_PROPS__trigger);
  LilvNode *latency = lilv_new_uri(world, LV2_CORE__reportsLatency);
  LilvNode *designation = lilv_new_uri(world, LV2_CORE__designation);
  LilvNode *freewheeling = lilv_new_uri(world, LV2_CORE__freeWheeling);
  for (uint32_t i = 0; i < facts->count; ++i) {
    const LilvPort *of = lilv_plugin_get_port_by_index(plugin, i);
    port *port = &facts->ports[i];
    bool is_input = lilv_port_is_a(plugin, of, input);
    if (lilv_port_is_a(plugin, of, audio) || lilv_port_is_a(plugin, of, cv))
      port->kind = is_input ? SOUND_IN : SOUND_OUT;
    else if (lilv_port_is_a(plugin, of, control))
      port->kind = is_input ? CONTROL_IN : CONTROL_OUT;
    else if (lilv_port_is_a(plugin, of, atom))
      port->kind = is_input ? EVENTS_IN : EVENTS_OUT;
    port->symbol = lilv_node_as_string(lilv_port_get_symbol(plugin, of));
    port->low = ranges[i];
    port->high = ranges[facts->count + i];
    port->usual = ranges[2 * facts->count + i];
    port->is_in_rates = lilv_port_has_property(plugin, of, rates);
    port->is_toggle = lilv_port_has_property(plugin, of, toggled);
    port->is_whole = lilv_port_has_property(plugin, of, integer) ||
                     lilv_port_has_property(plugin, of, enumeration);
    port->is_latency = lilv_port_has_property(plugin, of, latency);
    port->takes_midi = lilv_port_supports_event(plugin, of, midi);
    port->takes_position = lilv_port_supports_event(plugin, of, position);
    LilvNode *purpose = lilv_port_get(plugin, of, designation);
    port->is_passing = lilv_port_has_property(plugin, of, trigger) ||
                       (purpose && lilv_node_equals(purpose, freewheeling));
    lilv_node_free(purpose);
  }
  free(ranges);
  LilvNodes *needs = lilv_plugin_get_supported_features(plugin);
  LILV_FOREACH(nodes, i, needs) {
    const char *need = lilv_node_as_string(lilv_nodes_get(needs, i));
    if (!strcmp(need, LV2_OPTIONS__options) || !strncmp(need, LV2_BUF_SIZE_PREFIX, 38))
      facts->cares_for_length = true;
  }
  lilv_nodes_free(needs);
  LilvNode *nodes[] = {audio,   cv,       control, atom,        input,
                       midi,    position, rates,   integer,     enumeration,
                       toggled, trigger,  latency, designation, freewheeling};
  for (size_t i = 0; i < sizeof nodes / sizeof *nodes; ++i)
    lilv_node_free(nodes[i]);
  return true;
}
