// Audio units of the app: the functions of an AudioComponentPlugInInterface. The types are those of
// the C API without its names.
#pragma once

#include "cue_unit.h"

#pragma clang assume_nonnull begin

/// An AudioComponentPlugInInterface.
typedef struct cue_foreign_interface {
  int32_t (*_Nullable open)(void *self, void *instance);
  int32_t (*_Nullable close)(void *self);
  void *_Nullable (*_Nullable lookup)(int16_t selector);
  void *_Nullable reserved;
} cue_foreign_interface;

/// The functions that an app's unit has looked up; NULL for those that it does not have.
typedef struct cue_foreign {
  cue_foreign_interface *interface;
  int32_t (*_Nullable initialize)(void *self);
  int32_t (*_Nullable uninitialize)(void *self);
  int32_t (*_Nullable get_property_info)(void *self, uint32_t property, uint32_t scope,
                                         uint32_t element, uint32_t *_Nullable bytes,
                                         bool *_Nullable is_writable);
  int32_t (*_Nullable get_property)(void *self, uint32_t property, uint32_t scope, uint32_t element,
                                    void *_Nullable value, uint32_t *bytes);
  int32_t (*_Nullable set_property)(void *self, uint32_t property, uint32_t scope, uint32_t element,
                                    const void *_Nullable value, uint32_t bytes);
  int32_t (*_Nullable add_listener)(void *self, uint32_t property, void *proc,
                                    void *_Nullable data);
  int32_t (*_Nullable remove_listener)(void *self, uint32_t property, void *proc);
  int32_t (*_Nullable remove_listener_with_data)(void *self, uint32_t property, void *proc,
                                                 void *_Nullable data);
  int32_t (*_Nullable add_notify)(void *self, cue_render_proc proc, void *_Nullable data);
  int32_t (*_Nullable remove_notify)(void *self, cue_render_proc proc, void *_Nullable data);
  int32_t (*_Nullable get_parameter)(void *self, uint32_t parameter, uint32_t scope,
                                     uint32_t element, float *value);
  int32_t (*_Nullable set_parameter)(void *self, uint32_t parameter, uint32_t scope,
                                     uint32_t element, float value, uint32_t frame);
  int32_t (*_Nullable schedule)(void *self, const void *events, uint32_t count);
  int32_t (*_Nullable render)(void *self, uint32_t *_Nullable flags, const cue_time_stamp *time,
                              uint32_t bus, uint32_t frames, cue_buffer_list *list);
  int32_t (*_Nullable reset)(void *self, uint32_t scope, uint32_t element);
  int32_t (*_Nullable process)(void *self, uint32_t *_Nullable flags, const cue_time_stamp *time,
                               uint32_t frames, cue_buffer_list *list);
  int32_t (*_Nullable process_multiple)(void *self, uint32_t *_Nullable flags,
                                        const cue_time_stamp *time, uint32_t frames,
                                        uint32_t input_count,
                                        cue_buffer_list *_Nonnull const *_Nullable inputs,
                                        uint32_t output_count,
                                        cue_buffer_list *_Nonnull const *_Nullable outputs);
  int32_t (*_Nullable start)(void *self);
  int32_t (*_Nullable stop)(void *self);
  int32_t (*_Nullable midi)(void *self, uint32_t status, uint32_t data1, uint32_t data2,
                            uint32_t frame);
  int32_t (*_Nullable system_exclusive)(void *self, const uint8_t *data, uint32_t bytes);
} cue_foreign;

/// Looks up the functions of a unit.
static inline cue_foreign cue_foreign_functions(cue_foreign_interface *interface) {
  cue_foreign found = {.interface = interface};
  if (!interface->lookup) return found;
    // The selectors of the C API. A pointer to a function and one to data have one form on all
    // systems that have shared libraries.
#define CUE_LOOK_UP(name, selector) *(void **)&found.name = interface->lookup(selector)
  CUE_LOOK_UP(initialize, 0x0001);
  CUE_LOOK_UP(uninitialize, 0x0002);
  CUE_LOOK_UP(get_property_info, 0x0003);
  CUE_LOOK_UP(get_property, 0x0004);
  CUE_LOOK_UP(set_property, 0x0005);
  CUE_LOOK_UP(add_listener, 0x000A);
  CUE_LOOK_UP(remove_listener, 0x000B);
  CUE_LOOK_UP(remove_listener_with_data, 0x0012);
  CUE_LOOK_UP(add_notify, 0x000F);
  CUE_LOOK_UP(remove_notify, 0x0010);
  CUE_LOOK_UP(get_parameter, 0x0006);
  CUE_LOOK_UP(set_parameter, 0x0007);
  CUE_LOOK_UP(schedule, 0x0011);
  CUE_LOOK_UP(render, 0x000E);
  CUE_LOOK_UP(reset, 0x0009);
  CUE_LOOK_UP(process, 0x0014);
  CUE_LOOK_UP(process_multiple, 0x0015);
  CUE_LOOK_UP(start, 0x0201);
  CUE_LOOK_UP(stop, 0x0202);
  CUE_LOOK_UP(midi, 0x0101);
  CUE_LOOK_UP(system_exclusive, 0x0102);
#undef CUE_LOOK_UP
  return found;
}

enum {
  cue_foreign_lacks_it = -4
};

// The functions below call an app's unit in a render, by the rules of render callbacks.

static inline int32_t cue_rt_foreign_get(const cue_foreign *unit, uint32_t parameter,
                                         uint32_t scope, uint32_t element,
                                         float *value) CUE_REALTIME {
  if (!unit->get_parameter) return cue_foreign_lacks_it;
  cue_check check;
  int32_t status;
  cue_rt_begin_check(&check, (const void *)unit->get_parameter);
  CUE_TRUST_BEGIN // A function of the app.
      status = unit->get_parameter(unit->interface, parameter, scope, element, value);
  CUE_TRUST_END
  cue_rt_end_check(&check);
  return status;
}

static inline int32_t cue_rt_foreign_set(const cue_foreign *unit, uint32_t parameter,
                                         uint32_t scope, uint32_t element, float value,
                                         uint32_t frame) CUE_REALTIME {
  if (!unit->set_parameter) return cue_foreign_lacks_it;
  cue_check check;
  int32_t status;
  cue_rt_begin_check(&check, (const void *)unit->set_parameter);
  CUE_TRUST_BEGIN // A function of the app.
      status = unit->set_parameter(unit->interface, parameter, scope, element, value, frame);
  CUE_TRUST_END
  cue_rt_end_check(&check);
  return status;
}

static inline int32_t cue_rt_foreign_schedule(const cue_foreign *unit, const void *events,
                                              uint32_t count) CUE_REALTIME {
  if (!unit->schedule) return cue_foreign_lacks_it;
  cue_check check;
  int32_t status;
  cue_rt_begin_check(&check, (const void *)unit->schedule);
  CUE_TRUST_BEGIN // A function of the app.
      status = unit->schedule(unit->interface, events, count);
  CUE_TRUST_END
  cue_rt_end_check(&check);
  return status;
}

/// Hands a MIDI message to a unit: a channel message for a frame of the next render, or a system
/// exclusive message. Of other messages the unit hears nothing.
static inline int32_t cue_rt_foreign_midi(const cue_foreign *unit, const uint8_t *bytes,
                                          uint32_t count, uint32_t frame) CUE_REALTIME {
  if (bytes[0] > 0xf0) return 0;
  bool is_exclusive = bytes[0] == 0xf0;
  if (is_exclusive ? !unit->system_exclusive : !unit->midi) return cue_foreign_lacks_it;
  cue_check check;
  int32_t status;
  cue_rt_begin_check(&check, is_exclusive ? (const void *)unit->system_exclusive
                                          : (const void *)unit->midi);
  CUE_TRUST_BEGIN // A function of the app.
      status = is_exclusive ? unit->system_exclusive(unit->interface, bytes, count)
                            : unit->midi(unit->interface, bytes[0], count > 1 ? bytes[1] : 0,
                                         count > 2 ? bytes[2] : 0, frame);
  CUE_TRUST_END
  cue_rt_end_check(&check);
  return status;
}

CUE_OWN_FRAME static inline int32_t cue_rt_foreign_render(const cue_foreign *unit, uint32_t *flags,
                                                          const cue_time_stamp *time, uint32_t bus,
                                                          uint32_t frames,
                                                          cue_buffer_list *list) CUE_REALTIME {
  if (!unit->render) return cue_foreign_lacks_it;
  cue_check check;
  int32_t status;
  cue_rt_begin_check(&check, (const void *)unit->render);
  CUE_TRUST_BEGIN // A function of the app.
      status = unit->render(unit->interface, flags, time, bus, frames, list);
  CUE_TRUST_END
  cue_rt_end_check(&check);
  return status;
}

static inline int32_t cue_rt_foreign_reset(const cue_foreign *unit, uint32_t scope,
                                           uint32_t element) CUE_REALTIME {
  if (!unit->reset) return cue_foreign_lacks_it;
  cue_check check;
  int32_t status;
  cue_rt_begin_check(&check, (const void *)unit->reset);
  CUE_TRUST_BEGIN // A function of the app.
      status = unit->reset(unit->interface, scope, element);
  CUE_TRUST_END
  cue_rt_end_check(&check);
  return status;
}

/// Calls the unit's function for one list if it is given one that is input and output, else that
/// for several lists.
static inline int32_t
cue_rt_foreign_process(const cue_foreign *unit, uint32_t *flags, const cue_time_stamp *time,
                       uint32_t frames, uint32_t input_count,
                       cue_buffer_list *_Nonnull const *_Nullable inputs, uint32_t output_count,
                       cue_buffer_list *_Nonnull const *_Nullable outputs) CUE_REALTIME {
  bool is_in_place =
      input_count == 1 && output_count == 1 && inputs && outputs && inputs[0] == outputs[0];
  if (is_in_place ? !unit->process : !unit->process_multiple) return cue_foreign_lacks_it;
  cue_check check;
  int32_t status;
  cue_rt_begin_check(&check, is_in_place ? (const void *)unit->process
                                         : (const void *)unit->process_multiple);
  CUE_TRUST_BEGIN // A function of the app.
      status = is_in_place ? unit->process(unit->interface, flags, time, frames, inputs[0])
                           : unit->process_multiple(unit->interface, flags, time, frames,
                                                    input_count, inputs, output_count, outputs);
  CUE_TRUST_END
  cue_rt_end_check(&check);
  return status;
}

#pragma clang assume_nonnull end
