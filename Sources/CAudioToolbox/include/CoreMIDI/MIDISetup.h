// The header of drivers' setups, by which programs include Core MIDI. The bridges of jackd and
// PipeWire are the drivers, and set themselves up.
#ifndef CUEJACK_MIDISETUP_H
#define CUEJACK_MIDISETUP_H
#include "MIDIServices.h"
#endif
