// An output unit that plays its own input, until a signal ends the program.
#include "units.h"

#include <unistd.h>

static OSStatus pass(void *data, AudioUnitRenderActionFlags *flags, const AudioTimeStamp *time,
                     UInt32 bus, UInt32 frames, AudioBufferList *list) {
  (void)bus;
  return AudioUnitRender(*(AudioUnit *)data, flags, time, 1, frames, list);
}

int main(void) {
  AudioUnit unit = make(kAudioUnitType_Output, kAudioUnitSubType_RemoteIO);
  set_number(unit, kAudioOutputUnitProperty_EnableIO, kAudioUnitScope_Input, 1, 1);
  set_format(unit, kAudioUnitScope_Input, 0, planar(RATE, 1));
  set_format(unit, kAudioUnitScope_Output, 1, planar(RATE, 1));
  set_callback(unit, 0, pass, &unit);
  WORKS(AudioUnitInitialize(unit));
  WORKS(AudioOutputUnitStart(unit));
  for (;;)
    pause();
}
