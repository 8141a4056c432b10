// All of Core MIDI that there is here.
#ifndef CUEJACK_COREMIDI_H
#define CUEJACK_COREMIDI_H

#include "MIDIMessages.h"
#include "MIDIServices.h"
#include "MIDISetup.h"
#include "MIDIThruConnection.h"

#endif
